"""Arrays in files, mapped rather than read, and never unpickled."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.errors import StoreError
from haarbor.store.failures import storage_failures

__all__ = ["arrays_in_file"]

_PICKLES = (".pt", ".pth", ".bin", ".pkl", ".pickle", ".ckpt")
_SAFETENSORS = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U8": "u1",
    "BOOL": "?",
}


def arrays_in_file(path: str | os.PathLike[str]) -> dict[str, AnyArray]:
    """Arrays of a ``.npy``, ``.npz`` or ``.safetensors`` file, by name.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict of str to ndarray
        The array of a ``.npy`` file has the empty name. ``.npy`` and ``.safetensors`` are mapped
        into memory, so only what is looked at is read; bfloat16 becomes float32.

    Raises
    ------
    StoreError
        If the file is missing, of another kind, damaged, or holds pickled objects.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind in _PICKLES:
        raise StoreError(
            f"arrays must come as .npy, .npz or .safetensors; {file} is a pickle, which may run code when "
            "opened. Save the tensors with safetensors.torch.save_file."
        )
    if kind not in (".npy", ".npz", ".safetensors"):
        raise StoreError(f"arrays must come as .npy, .npz or .safetensors; found {file}.")
    if not file.is_file():
        raise StoreError(f"{file} must be a file; there is none. Check the path.")
    with storage_failures(f"reading {file}"):
        if kind == ".safetensors":
            return _safetensors(file)
        try:
            if kind == ".npy":
                return {"": np.load(file, mmap_mode="r", allow_pickle=False)}
            with file.open("rb") as handle, np.load(handle, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            if "pickle" in str(error).lower() or "object" in str(error).lower():
                raise StoreError(
                    f"arrays must hold numbers; {file} holds pickled objects, which may run code when "
                    "opened. Save a numeric array instead."
                ) from None
            raise StoreError(
                f"{file} must be a {kind} file; {error}. It is damaged or of another kind."
            ) from None


def _safetensors(file: Path) -> dict[str, AnyArray]:
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > size - 8:
            raise _not_safetensors(file, "its header is cut off")
        text = stream.read(length)
    try:
        header: dict[str, Any] = json.loads(text)
        header.pop("__metadata__", None)
        return {name: _mapped(file, name, entry, 8 + length, size) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _not_safetensors(file, str(error)) from None


def _mapped(file: Path, name: str, entry: dict[str, Any], start: int, size: int) -> AnyArray:
    shape = tuple(int(n) for n in entry["shape"])
    begin, end = (int(place) for place in entry["data_offsets"])
    kind = "<u2" if entry["dtype"] == "BF16" else _SAFETENSORS.get(entry["dtype"])
    if kind is None:
        raise StoreError(
            f"tensors must be of a usual number type; {name!r} in {file} is {entry['dtype']}. "
            "Save it as float32."
        )
    n_bytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
    if begin < 0 or end - begin != n_bytes or start + end > size:
        raise ValueError(f"the bytes of {name!r} do not fit its shape")
    if n_bytes == 0:
        return np.zeros(shape, dtype=np.float32 if entry["dtype"] == "BF16" else kind)
    array: AnyArray = np.memmap(file, dtype=kind, mode="r", offset=start + begin, shape=shape)
    if entry["dtype"] == "BF16":
        # bfloat16 is the upper half of a float32.
        array = (np.asarray(array).astype(np.uint32) << 16).view(np.float32)
    return array


def _not_safetensors(file: Path, reason: str) -> StoreError:
    return StoreError(f"{file} must be a .safetensors file; {reason}. It is damaged or of another kind.")
