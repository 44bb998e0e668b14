from dataclasses import dataclass

import pytest

from haarbor import stored_result as registry
from haarbor.errors import SettingError, StoreError
from haarbor.stored_result import registered_types, result_type_of, stored_result


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_BY_NAME", dict(registry._BY_NAME))
    monkeypatch.setattr(registry, "_BY_CLASS", dict(registry._BY_CLASS))


def test_a_class_registers_itself_and_stays_what_it_is():
    @stored_result("test-score", version=2)
    @dataclass(frozen=True, slots=True)
    class Score:
        value: float

    known = registered_types()["test-score"]
    assert (known.cls, known.version) == (Score, 2)
    assert result_type_of(Score(1.5)) is known
    assert known.fields_of(Score(1.5)) == {"value": 1.5}
    assert known.result(2, {"value": 1.5}) == Score(1.5)
    assert result_type_of(1.5) is None


def test_an_older_version_is_upgraded_step_by_step():
    @stored_result("test-score", version=3, upgrades={2: lambda fields: {**fields, "unit": "bits"}})
    @dataclass(frozen=True)
    class Score:
        value: float
        unit: str

    known = registered_types()["test-score"]
    assert known.result(2, {"value": 1.5}) == Score(1.5, "bits")
    with pytest.raises(StoreError, match="must be of version 3; found version 1"):
        known.result(1, {"value": 1.5})
    with pytest.raises(StoreError, match="must be of version 3 or older; found version 4"):
        known.result(4, {"value": 1.5})
    with pytest.raises(StoreError, match="a stored test-score must have its fields"):
        known.result(3, {"value": 1.5})


def test_names_that_are_taken_and_classes_that_are_no_dataclasses_are_refused():
    @stored_result("test-score")
    @dataclass
    class Score:
        value: float

    @dataclass
    class Other:
        value: float

    with pytest.raises(SettingError, match="must be its own; 'test-score' stands for"):
        stored_result("test-score")(Other)
    with pytest.raises(SettingError, match="must be a dataclass"):
        stored_result("test-int")(int)
    for name in ("", "a/b", "two words", "x" * 101, 3):
        with pytest.raises(SettingError, match="plain name"):
            stored_result(name)(Other)
    assert registered_types()["test-score"].cls is Score


def test_a_class_that_is_defined_anew_takes_the_place_of_the_old_one():
    def defined():
        @stored_result("test-score")
        @dataclass
        class Score:
            value: float

        return Score

    defined()
    newer = defined()
    assert registered_types()["test-score"].cls is newer
