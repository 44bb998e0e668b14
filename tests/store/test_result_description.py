import json
import tracemalloc

import numpy as np
import pytest

from haarbor.errors import SettingError, StoreError
from haarbor.store import open_run
from tests.store.builders import PLACES, flip, forge


@pytest.fixture
def run(saved_run):
    return saved_run


FOLDER = "results/decoder/probabilities/batch-00000/x"


DAMAGES = {
    "a bit of the numbers": lambda folder: flip(folder / "a/c.0", 6),
    "a bit of the checksum": lambda folder: flip(folder / "a/c.0", -2),
    "numbers cut off": lambda folder: (folder / "a/c.0").write_bytes((folder / "a/c.0").read_bytes()[:-6]),
    "empty numbers": lambda folder: (folder / "a/c.0").write_bytes(b""),
    "no numbers": lambda folder: (folder / "a/c.0").unlink(),
    "a folder for the numbers": lambda folder: ((folder / "a/c.0").unlink(), (folder / "a/c.0").mkdir()),
    "a bit of the array's description": lambda folder: flip(folder / "a/zarr.json", 40),
    "no description of the array": lambda folder: (folder / "a/zarr.json").unlink(),
    "a changed description": lambda folder: (folder / "zarr.json").write_text(
        (folder / "zarr.json").read_text().replace("text", "test")
    ),
    "an empty description": lambda folder: (folder / "zarr.json").write_bytes(b""),
    "another format": lambda folder: (folder / "zarr.json").write_text(
        (folder / "zarr.json").read_text().replace("haarbor result", "haarbor resulu")
    ),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_result_does_not_count_is_named_and_can_be_made_again(run, place, how):
    DAMAGES[how](place / FOLDER)
    assert not run.has_result("x", batch=0)
    with pytest.raises(
        StoreError, match=rf"{FOLDER} of .*run.zarr is damaged: its .*\. Make it again, which replaces it\.$"
    ) as caught:
        run.load_result("x", batch=0)
    assert "\n" not in str(caught.value)
    [damage] = run.verify()
    assert (damage.batch, damage.stream, damage.content, damage.result) == (
        0,
        "decoder",
        "probabilities",
        "x",
    )
    run.save_result({"a": np.arange(3)}, "x", batch=0)
    assert run.load_result("x", batch=0)["a"].tolist() == [0, 1, 2]
    assert run.verify() == ()


def test_a_damaged_description_does_not_hide_the_other_results(run, place):
    run.save_result(1, "y", batch=0)
    flip(place / FOLDER / "zarr.json", 30)
    assert [found.name for found in run.results()] == ["y"]


def test_an_absent_result_is_said_to_be_absent(run):
    with pytest.raises(
        StoreError, match=r"has no results/decoder/probabilities/batch-00001/x\. Make it first"
    ):
        run.load_result("x", batch=1)


def test_a_group_of_another_program_is_no_result_and_no_damage(run, place):
    import zarr

    zarr.open_group(place, mode="r+").create_group("results/decoder/probabilities/batch-00000/mine")
    assert not run.has_result("mine", batch=0)
    assert [found.name for found in run.results()] == ["x"]
    assert run.verify() == ()


def test_results_survive_damage_to_their_groups(run, place):
    (place / "results/decoder/zarr.json").write_text("{")
    assert run.load_result("x", batch=0)["b"] == "text"
    run.save_result(2, "x", batch=0)
    assert run.verify() == ()


def test_a_description_too_long_to_be_read_is_not_written(run, monkeypatch):
    monkeypatch.setattr("haarbor.store._documents.MOST_BYTES", 2000)
    with pytest.raises(
        SettingError, match=r"a description in a run must be shorter than .* Keep numbers in arrays"
    ):
        run.save_result(list(range(1000)), "long", batch=0)
    assert not run.has_result("long", batch=0)


def test_what_a_result_says_of_itself_is_digested(run, place):
    attributes = json.loads((place / FOLDER / "zarr.json").read_text())["attributes"]
    assert attributes["arrays"]["a"]["shape"] == [30]
    assert attributes["arrays"]["a"]["dtype"] == "int64"
    assert len(attributes["digest"]) == 64


RESULTS = {
    "an absurd shape": lambda a: a["arrays"]["a"].update(shape=[10**18]),
    "a large shape": lambda a: a["arrays"]["a"].update(shape=[10**10]),
    "too many axes": lambda a: a["arrays"]["a"].update(shape=[1] * 99),
    "objects": lambda a: a["arrays"]["a"].update(dtype="object"),
    "a dtype as a list": lambda a: a["arrays"]["a"].update(dtype=[]),
    "no checksum": lambda a: a["arrays"]["a"].update(checksum=""),
    "an array as a number": lambda a: a["arrays"].update(a=1),
    "an array elsewhere": lambda a: a["arrays"].update({"../../x": a["arrays"]["a"]}),
    "arrays as a list": lambda a: a.update(arrays=[]),
    "another array": lambda a: a.update(value={"array": "b"}),
    "a type without fields": lambda a: a.update(value={"type": "HeadEntropy", "version": 1}),
    "a version as a text": lambda a: a.update(value={"type": "HeadEntropy", "version": "x", "fields": {}}),
    "a mapping of numbers": lambda a: a.update(value={"mapping": 3}),
    "a tree that is none": lambda a: a.update(value={"tree": "a"}),
    "sources as a list": lambda a: a.update(sources=[]),
    "another version": lambda a: a.update(version=99),
}


@pytest.mark.parametrize("how", RESULTS)
def test_a_forged_result_is_one_line(place, how):
    run = open_run(place)
    run.save_result({"a": np.arange(2)}, "x", batch=1)
    forge(place / PLACES["result"], RESULTS[how])
    tracemalloc.start()
    with pytest.raises(StoreError, match="must") as caught:
        run.load_result("x", batch=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert "\n" not in str(caught.value)
    run.save_result(5, "x", batch=1)
    assert run.load_result("x", batch=1) == 5
