"""Results that are damaged, absent or asked for by names that none can have."""

import json

import numpy as np
import pytest

from haarbor.errors import SettingError, StoreError
from haarbor.store import open_run
from tests.store.runs import files_of

FOLDER = "results/decoder/probabilities/batch-00000/x"


@pytest.fixture
def place(complete_run):
    return complete_run


@pytest.fixture
def run(place):
    run = open_run(place)
    run.save_result({"a": np.arange(30), "b": "text"}, "x", batch=0)
    return run


def flip(path, position):
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(bytes(data))


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


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../../x", "../../../../../kept", "/etc", "a/b", "a\\b", "zarr.json", "x.lock",
     "x.partial", "\0", "\ud800", "a" * 101, None, 5, b"x", "desktop.ini"],
)  # fmt: skip
def test_names_that_no_result_can_have_are_refused_everywhere_and_nothing_is_touched(run, place, name):
    (place.parent / "kept").mkdir()
    (place.parent / "kept" / "file").write_text("kept")
    before = files_of(place.parent)
    for use in (
        run.load_result,
        run.has_result,
        run.delete_result,
        lambda n, **k: run.save_result(1, n, **k),
    ):
        for batch in (0, None):
            with pytest.raises(SettingError, match="a result's name must be letters") as caught:
                use(name, batch=batch)
            str(caught.value).encode()
    assert files_of(place.parent) == before


@pytest.mark.parametrize(
    "batch", [-1, True, False, 1.0, "0", 10**9, np.True_, np.array(0), (0, True), (0, 1.5), ("0",), (-1,)]
)
def test_batches_that_none_can_be_are_refused_everywhere(run, batch):
    for use in (
        run.load_result,
        run.has_result,
        run.delete_result,
        lambda n, **k: run.save_result(1, n, **k),
    ):
        with pytest.raises(SettingError, match="batch must be a whole number from 0 to 999999; found"):
            use("x", batch=batch)


@pytest.mark.parametrize("batch", [-1, True, 1.0, "0", None, [0], 10**9])
def test_batches_that_none_can_be_are_refused_by_what_reads(run, batch):
    for use in (run.tensor, run.mask, run.labels, run.picture):
        with pytest.raises(SettingError, match="batch must be a whole number from 0 to 999999; found"):
            use(batch)


def test_batches_may_be_numbers_of_numpy(run):
    assert run.load_result("x", batch=np.int64(0))["b"] == "text"
    assert run.tensor(np.uint8(1)).shape == (4, 4, 6)
    run.save_result(1, "y", batch=np.arange(2))
    assert run.has_result("y", batch=(0, 1))


@pytest.mark.parametrize(
    "chosen", [{"content": "../x"}, {"content": 5}, {"stream": ".."}, {"stream": 5}, {"stream": []}]
)
def test_contents_and_streams_that_the_run_does_not_hold_are_refused_everywhere(run, place, chosen):
    before = files_of(place)
    for use in (
        run.load_result,
        run.has_result,
        run.delete_result,
        lambda n, **k: run.save_result(1, n, **k),
    ):
        with pytest.raises(SettingError, match="must be one"):
            use("x", batch=0, **chosen)
    assert files_of(place) == before


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
def test_arrays_that_would_not_come_back_are_refused(run, value):
    with pytest.raises(SettingError, match="an array to be stored must hold numbers; the value is "):
        run.save_result(value, "x", batch=0)
    assert run.has_result("x", batch=0)


@pytest.mark.parametrize("dtype", [">f8", ">i2", "<f4", "?"])
def test_arrays_of_any_order_of_bytes_come_back(run, dtype):
    value = np.array([0, 1, 1]).astype(dtype)
    run.save_result({"v": value[::-1], "f": np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])}, "x", batch=0)
    found = run.load_result("x", batch=0)
    assert found["v"].tolist() == value[::-1].tolist()
    assert found["f"].tolist() == [[1.0, 2.0], [3.0, 4.0]]


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
