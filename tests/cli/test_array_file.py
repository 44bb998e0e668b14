"""Which array of a file is meant, and what its axes are."""

from pathlib import Path

import numpy as np
import pytest

from haarbor.cli._array_file import ArrayFile, is_array_file
from haarbor.errors import SettingError, ShapeError, StoreError


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(shape, axes=None, array=None):
    np.save("x.npy", np.zeros(shape))
    return ArrayFile.read("x.npy", array, axes)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((5, 7), ("row", "column")),
        ((5, 5), ("row", "column")),
        ((5, 5, 3), ("query", "key", "head")),
        ((5, 5, 5), ("query", "key", "head")),
        ((3, 5, 5), ("head", "query", "key")),
        ((2, 3, 5, 5), ("layer", "head", "query", "key")),
        ((4, 2, 3, 5, 5), ("batch", "layer", "head", "query", "key")),
        ((2, 3, 4), ("axis0", "axis1", "axis2")),
        ((5, 5, 2, 3), ("axis0", "axis1", "axis2", "axis3")),
        ((2, 2, 2, 2, 5, 5), tuple(f"axis{n}" for n in range(6))),
    ],
)
def test_axes_are_found_by_their_lengths(shape, axes):
    found = read(shape)
    assert found.axes == axes
    assert found.guessed
    assert found.is_attention is ("query" in axes)
    assert found.what == "float64, " + " x ".join(f"{n} ({a})" for n, a in zip(shape, axes, strict=True))


def test_axes_that_are_named_are_taken():
    found = read((5, 6), "query, key")
    assert found.axes == ("query", "key")
    assert not found.guessed
    assert found.is_attention
    array, axes = found.with_heads()
    assert (array.shape, axes) == ((1, 5, 6), ("head", "query", "key"))
    assert not read((5, 6, 7), "query,key,day").is_attention


def test_negative_numbers_are_logits():
    for value, content in ((0.1, "probabilities"), (-0.1, "logits")):
        array = np.full((2, 3, 3), 0.2)
        array[1, 2, 0] = value
        np.save("x.npy", array)
        assert ArrayFile.read("x.npy", None, None).content() == content


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_one_of_several_arrays_is_chosen_by_name(ending):
    arrays = {"a": np.zeros((2, 3, 3), "f4"), "b": np.ones((4, 5), "f4")}
    if ending == "npz":
        np.savez("x.npz", **arrays)
    else:
        pytest.importorskip("safetensors.numpy").save_file(arrays, "x.safetensors")
    with pytest.raises(SettingError, match=r"it holds a, b. Choose one, as in --array 'a'."):
        ArrayFile.read(f"x.{ending}", None, None)
    with pytest.raises(SettingError, match=r"an array of x.\w+, a, b; found 'c'. Choose one of these."):
        ArrayFile.read(f"x.{ending}", "c", None)
    found = ArrayFile.read(f"x.{ending}", "b", None)
    assert found.shape == (4, 5)
    assert found.what == "b, float32, 4 (row) x 5 (column)"
    np.testing.assert_array_equal(found.source, arrays["b"])


def test_probabilities_and_logits_are_taken_together():
    np.savez("x.npz", other=np.zeros(3), probabilities=np.ones((2, 3, 3)), logits=np.zeros((2, 3, 3)))
    found = ArrayFile.read("x.npz", None, None)
    assert set(found.source) == {"probabilities", "logits"}
    assert found.axes == ("head", "query", "key")


def test_a_cache_of_a_network_is_known_by_its_names():
    layer = np.zeros((1, 2, 3, 3))
    np.savez("x.npz", **{f"blocks.{n}.attn.hook_pattern": layer for n in range(4)})
    found = ArrayFile.read("x.npz", None, None)
    assert found.is_attention
    assert found.shape == (1, 4, 2, 3, 3)
    assert "4 (layer) x 2 (head) x 3 (query) x 3 (key)" in found.what


@pytest.mark.parametrize(
    ("shape", "axes", "array", "error", "message"),
    [
        ((3,), None, None, ShapeError, r"two axes or more, none of them empty; x.npy has shape \(3,\)"),
        ((3, 0), None, None, ShapeError, "none of them empty"),
        ((3, 4), "a", None, ShapeError, "found 1 names for the 2 axes of 3 x 4"),
        ((3, 4), "a,a", None, SettingError, "--axes must be different names"),
        ((3, 4), "a,../b", None, SettingError, "of letters, digits"),
        ((3, 4), "a,", None, SettingError, "Write them as in head,query,key"),
        ((3, 4), None, "a", SettingError, "x.npy holds one. Leave it out."),
    ],
)
def test_what_does_not_fit_is_refused(shape, axes, array, error, message):
    with pytest.raises(error, match=message):
        read(shape, axes, array)


def test_numbers_that_are_not_real_are_refused():
    np.save("x.npy", np.zeros((3, 3), complex))
    with pytest.raises(ShapeError, match=r"x.npy holds complex128. Save its real part or its size."):
        ArrayFile.read("x.npy", None, None)
    np.savez("e.npz")
    with pytest.raises(SettingError, match=r"e.npz must hold an array; it holds none"):
        ArrayFile.read("e.npz", None, None)
    with pytest.raises(StoreError, match=r"there is none. Check the path"):
        ArrayFile.read("nowhere.npy", None, None)


def test_runs_are_folders_and_addresses():
    Path("run.npy").mkdir()
    Path("text").touch()
    found = {place: is_array_file(place) for place in ("run.npy", "text", "a.NPZ", "run", "memory://a.npy")}
    assert found == {"run.npy": False, "text": True, "a.NPZ": True, "run": False, "memory://a.npy": False}
