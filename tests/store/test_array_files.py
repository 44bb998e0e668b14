"""Files of arrays that are damaged, absurd or of another kind: one line, nothing allocated, no warning."""

import pickle
import sys

import numpy as np
import pytest

from haarbor.errors import StoreError
from haarbor.store import import_arrays
from haarbor.store._array_files import arrays_in_file
from tests.store.builders import safetensors


@pytest.mark.parametrize("kind", ["npy", "npz", "safetensors"])
def test_flipped_bits_of_a_file_are_one_line_or_numbers(tmp_path, kind, rng):
    """Whatever a damaged header says, it is an array or a refusal, and never a warning."""
    array = np.arange(24.0).reshape(2, 3, 4)
    path = tmp_path / f"x.{kind}"
    if kind == "npy":
        np.save(path, array)
    elif kind == "npz":
        np.savez_compressed(path, array)
    else:
        path.write_bytes(
            safetensors(
                {"x": {"dtype": "F64", "shape": [2, 3, 4], "data_offsets": [0, 192]}}, array.tobytes()
            )
        )
    kept = path.read_bytes()
    refused = 0
    for bit in rng.choice(8 * min(len(kept), 400), size=300, replace=False):
        data = bytearray(kept)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(data))
        try:
            found = dict(arrays_in_file(path))
        except StoreError:
            refused += 1
            continue
        for values in found.values():
            assert values.nbytes <= 200
    assert refused > 50


class Exploding:
    def __reduce__(self):
        return (sys.exit, ("a pickle was run",))


def test_pickles_are_never_opened(tmp_path, new_place):
    (tmp_path / "real.npy").write_bytes(pickle.dumps(Exploding()))
    np.save(tmp_path / "objects.npy", np.array([Exploding()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "objects.npz", x=np.array([Exploding()], dtype=object))
    (tmp_path / "weights.pt").write_bytes(pickle.dumps(Exploding()))
    for name in ("real.npy", "objects.npy", "objects.npz"):
        with pytest.raises(StoreError, match=f"{name} holds pickled objects, which may run code"):
            import_arrays(tmp_path / name, new_place)
    with pytest.raises(StoreError, match=r"weights.pt is a pickle.*safetensors.torch.save_file"):
        import_arrays(tmp_path / "weights.pt", new_place)
    assert not new_place.exists()


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("x.safetensors", b"", "its header is cut off"),
        ("x.safetensors", (2**40).to_bytes(8, "little"), "its header is cut off"),
        ("x.safetensors", (2).to_bytes(8, "little") + b"[]", "must be a .safetensors file"),
        (
            "x.safetensors",
            (61).to_bytes(8, "little") + b'{"x":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}      ',
            "the bytes of 'x' do not fit its shape",
        ),
        ("x.npz", b"PK\x03\x04 not a zip", "must be a .npz file"),
        ("x.csv", b"1,2", "must come as .npy, .npz or .safetensors; found"),
    ],
)
def test_files_that_are_not_what_they_say_are_refused(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(StoreError, match=words):
        arrays_in_file(tmp_path / name)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(StoreError, match="must be a file; there is none"):
        arrays_in_file(tmp_path / "none.npy")
