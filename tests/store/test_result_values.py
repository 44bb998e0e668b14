import json

import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import SettingError, StoreError
from haarbor.store import open_run
from haarbor.store._batch_marker import digest_of
from haarbor.store._result_values import restored_value, stored_value
from tests.samples import CHAINED, HALVES, random_tree
from tests.store.builders import assert_same, nested


def test_arrays_of_a_result_never_share_a_name(run):
    value = {
        "array-0001": np.zeros(1), "x/y": np.ones(1), "zarr.json": np.full(1, 2.0), "A": np.full(1, 3.0),
        "a": np.full(1, 4.0), "a.partial": np.full(1, 5.0), "file": np.full(1, 6.0),
    }  # fmt: skip
    run.save_result(value, "names", batch=0)
    found = open_run(run.location).load_result("names", batch=0)
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.tolist() for name, array in value.items()
    }


@pytest.mark.parametrize(
    "value", [np.zeros(2, dtype=np.longdouble), np.ma.array([1.0, 2.0], mask=[True, False])]
)
def test_arrays_that_would_not_come_back_are_refused(saved_run, value):
    with pytest.raises(SettingError, match="an array to be stored must hold numbers; the value is "):
        saved_run.save_result(value, "x", batch=0)
    assert saved_run.has_result("x", batch=0)


@pytest.mark.parametrize("dtype", [">f8", ">i2", "<f4", "?"])
def test_arrays_of_any_order_of_bytes_come_back(run, dtype):
    value = np.array([0, 1, 1]).astype(dtype)
    run.save_result({"v": value[::-1], "f": np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])}, "x", batch=0)
    found = run.load_result("x", batch=0)
    assert found["v"].tolist() == value[::-1].tolist()
    assert found["f"].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_result_that_is_nested_without_end_is_refused(place):
    endless = []
    endless.append(endless)
    for value in (endless, nested(10**5)):
        with pytest.raises(SettingError, match="a result must not be nested too deeply"):
            open_run(place).save_result(value, "x", batch=1)


def round_trip(value):
    description, arrays = stored_value(value)
    text = json.dumps(description, allow_nan=False)
    return restored_value(json.loads(text), lambda name: arrays[name].copy())


@pytest.mark.parametrize(
    "value",
    [
        None, True, 3, -0.1, 1e-300, float("nan"), float("inf"), "é\ud800", [1, [2.5, None]], (1, ("a",)), {},
        {"b": 1, "a": (2, [3])}, {"tuple": 1}, {"type": "x"}, HALVES, (CHAINED, HALVES, CHAINED),
        np.arange(3), np.zeros((2, 0)), np.array(2.5), np.array([True, False]), np.eye(2, dtype=np.float16),
        np.array([np.nan, 1]), {"x/y": np.ones(2), "..": np.zeros(1)}, np.array([2**63 + 1], dtype=np.uint64),
    ],
)  # fmt: skip
def test_values_come_back_as_they_were(value, run):
    assert_same(round_trip(value), value)
    run.save_result(value, "value")
    assert_same(run.load_result("value"), value)


def test_numpy_scalars_become_numbers():
    assert_same(round_trip([np.float64(0.5), np.int32(3), np.bool_(True)]), [0.5, 3, True])


def test_equal_trees_are_kept_once(rng):
    tree = random_tree(rng, 7)
    _, arrays = stored_value({"a": tree, "b": [tree, hb.PartitionTree(tree.levels)]})
    assert list(arrays) == ["a"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "type that has a stored form; the value is a object"),
        ({"a": [1, {2, 3}]}, r"a\.1 is a set"),
        ({1: 2}, "texts for keys"),
        ({"a": np.array([None])}, "must hold numbers; a is of dtype object"),
        (np.array(["x"]), "must hold numbers"),
        (1j, "is a complex"),
    ],
)
def test_values_without_a_stored_form_are_refused(value, words):
    with pytest.raises(SettingError, match=words):
        stored_value(value)


def test_parts_this_haarbor_does_not_know_are_refused():
    with pytest.raises(StoreError, match=r"parts this Haarbor knows; found \['pickle'\]"):
        restored_value({"pickle": "x"}, None)
    with pytest.raises(StoreError, match="of a type this Haarbor knows; found 'Mystery'"):
        restored_value({"type": "Mystery", "version": 1, "fields": {}}, None)
    with pytest.raises(
        StoreError, match="a stored HeadEntropy must be of version 1 or older; found version 2"
    ):
        restored_value({"type": "HeadEntropy", "version": 2, "fields": {}}, None)
    with pytest.raises(StoreError, match="a stored HeadEntropy must have its fields"):
        restored_value({"type": "HeadEntropy", "version": 1, "fields": {"raw": 1}}, None)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "HeadEntropy", "version": "new", "fields": {}},
        {"type": "HeadEntropy", "version": 1, "fields": []},
        {"mapping": 3},
        {"tree": "nowhere"},
        {"float": "many"},
    ],
    ids=str,
)
def test_values_that_are_not_what_was_written_are_damage(value, run, place):
    run.save_result(1, "x", batch=0)
    path = place / "results/decoder/probabilities/batch-00000/x/zarr.json"
    document = json.loads(path.read_text())
    attributes = document["attributes"]
    del attributes["digest"]
    attributes["value"] = value
    attributes["digest"] = digest_of(attributes)
    path.write_text(json.dumps(document))
    assert run.kept_result("x", batch=0).state == "damaged"
