import json
import os
import zipfile

import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import StoreError
from haarbor.store import load_results_file, save_results_file


def test_a_results_file_that_is_nested_too_deeply_is_one_line(tmp_path):
    text = np.frombuffer(b'{"format":"haarbor results","version":1,"value":' + b"[" * 10**5, dtype=np.uint8)
    np.savez(tmp_path / "deep.npz", **{"description.json": text})
    with pytest.raises(StoreError, match=r"its description\.json is not"):
        load_results_file(tmp_path / "deep.npz")


def test_results_may_have_arrays_of_any_name(tmp_path):
    value = {"file": np.ones(2), "allow_pickle": np.zeros(1), "args": np.full(1, 3.0)}
    found = load_results_file(save_results_file(value, tmp_path / "results.npz"))
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.tolist() for name, array in value.items()
    }


@pytest.fixture
def value(rng):
    tree = hb.PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
    return [{"tree": tree, "numbers": rng.random(5).astype(np.float16), "words": "é", "nan": float("nan")}]


def test_what_is_saved_comes_back(value, tmp_path):
    path = save_results_file(value, tmp_path / "results.npz")
    (back,) = load_results_file(path)
    assert back["tree"] == value[0]["tree"]
    assert back["numbers"].dtype == np.float16
    np.testing.assert_array_equal(back["numbers"], value[0]["numbers"])
    assert not back["numbers"].flags.writeable
    assert back["words"] == "é"
    assert np.isnan(back["nan"])
    assert [file.name for file in tmp_path.iterdir()] == ["results.npz"]


def test_the_same_result_gives_the_same_bytes(value, tmp_path):
    one, two = (save_results_file(value, tmp_path / f"{name}.npz").read_bytes() for name in "ab")
    assert one == two


def test_every_part_is_numbers_and_the_text_is_json(value, tmp_path):
    path = save_results_file(value, tmp_path / "results.npz")
    with np.load(path, allow_pickle=False) as archive:
        assert all(archive[name].dtype.kind in "iuf" for name in archive.files)
        assert json.loads(archive["description.json"].tobytes())["format"] == "haarbor results"


def test_a_file_that_is_not_there_or_misnamed_is_refused(value, tmp_path):
    with pytest.raises(hb.StoreError, match="must be a file; there is none"):
        load_results_file(tmp_path / "results.npz")
    with pytest.raises(hb.StoreError, match=r"must end in \.npz"):
        save_results_file(value, tmp_path / "results.zip")
    with pytest.raises(hb.StoreError, match=r"must be written into a folder; there is no .*nowhere"):
        save_results_file(value, tmp_path / "nowhere" / "results.npz")


def test_a_link_is_followed_and_a_pipe_left_alone(value, tmp_path):
    (tmp_path / "link.npz").symlink_to("results.npz")
    save_results_file(value, tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink()
    assert load_results_file(tmp_path / "results.npz")[0]["words"] == "é"
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(hb.StoreError, match="is a device, a pipe or a socket"):
        save_results_file(value, tmp_path / "pipe.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.npz", "pipe.npz", "results.npz"]


@pytest.mark.parametrize("path", [None, 3, b"results.npz"])
def test_what_is_no_path_is_refused(value, path):
    with pytest.raises(hb.StoreError, match="a location must be a path or an address"):
        save_results_file(value, path)
    with pytest.raises(hb.StoreError, match="a location must be a path or an address"):
        load_results_file(path)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text"])
def test_a_damaged_file_is_one_clear_line(value, tmp_path, damage):
    path = save_results_file(value, tmp_path / "results.npz")
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        with zipfile.ZipFile(path) as archive:
            entry = archive.getinfo("0.numbers.npy")
        content[entry.header_offset + 30 + len(entry.filename) + 30] ^= 0xFF
    elif damage == "empty":
        content = bytearray()
    else:
        content = bytearray(b"not a file of numbers")
    path.write_bytes(content)
    with pytest.raises(hb.StoreError, match="damaged or of another kind") as caught:
        load_results_file(path)
    assert "\n" not in str(caught.value)


def test_files_of_other_programs_are_refused(tmp_path, value):
    np.savez(tmp_path / "foreign.npz", x=np.zeros(3))
    with pytest.raises(hb.StoreError, match=r"it has no description\.json"):
        load_results_file(tmp_path / "foreign.npz")
    np.savez(tmp_path / "objects.npz", **{"description.json": np.array([{}], dtype=object)})
    with pytest.raises(hb.StoreError, match="damaged or of another kind"):
        load_results_file(tmp_path / "objects.npz")
    np.savez(tmp_path / "words.npz", **{"description.json": np.frombuffer(b"[1, 2", dtype=np.uint8)})
    with pytest.raises(hb.StoreError, match=r"its description\.json is not"):
        load_results_file(tmp_path / "words.npz")


def described(path, change):
    with np.load(path) as archive:
        parts = dict(archive)
    document = json.loads(parts["description.json"].tobytes())
    change(document, parts)
    parts["description.json"] = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    np.savez(path, **parts)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda document, _: document.update(version=9), "version 1; found 'haarbor results', 9"),
        (lambda document, _: document.update(value={"type": "Spell", "version": 1}), "every part|Spell"),
        (lambda _, parts: parts.pop("0.numbers"), "must hold every part of its result"),
        (lambda _, parts: parts.update({"0.tree": np.zeros((2, 3), int)}), "must hold every part"),
        (lambda document, _: document.update(value={"magic": 1}), "parts this Haarbor knows"),
    ],
)
def test_a_file_with_other_parts_is_refused(value, tmp_path, change, message):
    path = save_results_file(value, tmp_path / "results.npz")
    described(path, change)
    with pytest.raises(hb.StoreError, match=message):
        load_results_file(path)
