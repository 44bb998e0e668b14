"""Arrays in files: they are mapped into memory, not read at once, and never unpickled."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from haarbor.array_types import AnyArray
from haarbor.errors import StoreError
from haarbor.printable import printable
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._failures import storage_failures
from haarbor.store._local_path import local_path
from haarbor.store._numpy_files import NumpyArchive, PickledObjectsError, mapped_array
from haarbor.store._safetensors_file import SafetensorsFile

__all__ = ["arrays_in_file"]

_PICKLES = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt")


def arrays_in_file(path: str | os.PathLike[str]) -> Mapping[str, AnyArray]:
    """Arrays of a ``.npy``, ``.npz`` or ``.safetensors`` file, by name.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    mapping of str to ndarray
        The array of a ``.npy`` file has the empty name. ``.npy`` and ``.safetensors`` are mapped
        into memory, so only what is looked at is read; an array of a ``.npz`` is read when it is asked
        for; bfloat16 becomes float32.

    Raises
    ------
    StoreError
        If the file is missing, of another kind, damaged, or holds pickled objects; some of this shows
        only when an array is asked for.

    See Also
    --------
    haarbor.import_arrays : A run from arrays.
    """
    file = local_path(path)
    kind = file.suffix.lower()
    if kind in _PICKLES:
        raise StoreError(
            f"arrays must come as .npy, .npz or .safetensors; {printable(file)} is a pickle, which may run "
            "code when opened. Save the tensors with safetensors.torch.save_file."
        )
    if kind not in (".npy", ".npz", ".safetensors"):
        raise StoreError(
            f"arrays must come as .npy, .npz or .safetensors; found {printable(file)}. "
            "Save them as one of these."
        )
    with storage_failures(f"reading {file}"):
        if not file.is_file():
            raise StoreError(f"{printable(file)} must be a file; there is none. Check the path.")
    return _ArraysOfFile(file)


class _ArraysOfFile(Mapping[str, AnyArray]):
    """Arrays of a file by name, with the file named in what is said of them."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with _named(file):
            self._arrays = _opened(file)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, name: str) -> AnyArray:
        with _named(self._file):
            return self._arrays[name]


def _opened(file: Path) -> Mapping[str, AnyArray]:
    kind = file.suffix.lower()
    if kind == ".npy":
        return {"": mapped_array(file)}
    return NumpyArchive(file) if kind == ".npz" else SafetensorsFile(file)


@contextmanager
def _named(file: Path) -> Iterator[None]:
    try:
        with storage_failures(f"reading {file}"):
            yield
    except PickledObjectsError:
        raise StoreError(
            f"arrays must hold numbers; {printable(file)} holds pickled objects, which may run code when "
            "opened. Save a numeric array instead."
        ) from None
    except DamagedPartError as error:
        raise StoreError(
            f"{printable(file)} must be a {file.suffix.lower()} file of numbers; {error}. It is damaged or "
            "of another kind: save it again."
        ) from None
    except MemoryError:
        raise StoreError(
            f"an array must fit into memory; one in {printable(file)} does not. "
            "Import fewer batches at a time."
        ) from None
