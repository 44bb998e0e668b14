"""A result in one file: a .npz of numbers and one JSON text, no pickle."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.errors import HaarborError, StoreError
from haarbor.options import found_text
from haarbor.printable import printable
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._documents import parsed_json
from haarbor.store._failures import storage_failures
from haarbor.store._local_path import local_path
from haarbor.store._numpy_files import NumpyArchive
from haarbor.store._result_values import restored_value, stored_value
from haarbor.whole_file import whole_file

__all__ = ["load_results_file", "save_results_file"]

_FORMAT = "haarbor results"
_VERSION = 1
_DESCRIPTION = "description.json"


def save_results_file(value: object, path: str | os.PathLike[str]) -> Path:
    """Write a result into one ``.npz`` file, compressed; the same result gives the same bytes.

    Parameters
    ----------
    value : object
        Whatever a run can hold, see :meth:`haarbor.store.Run.save_result`.
    path : str or path
        Ends in ``.npz``. A file that is there is replaced, at once and whole.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    StoreError
        If it cannot be written.
    SettingError
        If something in it has no stored form.

    See Also
    --------
    haarbor.store.load_results_file : Read it again.
    haarbor.store.stored_result : Make a class that can be kept.
    """
    file = local_path(path)
    if file.suffix != ".npz":
        raise StoreError(
            f"a results file must end in .npz; found {found_text(file.name)}. Change the ending."
        )
    described, arrays = stored_value(value)
    document = {"format": _FORMAT, "version": _VERSION, "value": described}
    text = json.dumps(document, allow_nan=False, sort_keys=True).encode()
    parts: dict[str, AnyArray] = {_DESCRIPTION: np.frombuffer(text, dtype=np.uint8), **arrays}
    # As numpy.savez_compressed does, which takes no array called "file".
    with (
        whole_file(file, "a results file") as unfinished,
        zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name, array in parts.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                np.lib.format.write_array(part, array, allow_pickle=False)
    return file


def load_results_file(path: str | os.PathLike[str]) -> Any:
    """Result that :func:`save_results_file` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    object
        Arrays in it are read-only.

    Raises
    ------
    StoreError
        If there is no such file, it is damaged, or another program made it.

    See Also
    --------
    haarbor.store.save_results_file : Write a result to a file.
    """
    file = local_path(path)
    with storage_failures(f"reading {file}"):
        if not file.is_file():
            raise StoreError(f"{printable(file)} must be a file; there is none. Check the path.")
        try:
            # All of them, so that a damaged part is found even where nothing asks for it.
            arrays = NumpyArchive(file).all_arrays()
        except (DamagedPartError, MemoryError) as error:
            raise StoreError(
                f"{printable(file)} must be a results file of Haarbor; it is damaged or of another kind "
                f"({_one_line(error)}). Make it again."
            ) from None
    return _value_of(printable(file), arrays)


def _value_of(file: str, arrays: dict[str, AnyArray]) -> Any:
    if _DESCRIPTION not in arrays:
        raise StoreError(
            f"{file} must be a results file of Haarbor; it has no {_DESCRIPTION}. "
            "Pass the results.npz that `haarbor figures` wrote, or a run."
        )
    try:
        document = parsed_json(arrays[_DESCRIPTION].tobytes())
        found, version, described = document["format"], document["version"], document["value"]
    except (DamagedPartError, KeyError):
        raise StoreError(
            f"{file} must be a results file of Haarbor; its {_DESCRIPTION} is not. Make it again."
        ) from None
    if found != _FORMAT or version != _VERSION:
        raise StoreError(
            f"{file} must be of the format {_FORMAT!r}, version {_VERSION}; found {found_text(found)}, "
            f"{found_text(version)}. Make it again with this Haarbor."
        )
    try:
        return restored_value(described, arrays.__getitem__)
    except StoreError as error:
        raise StoreError(f"{file}: {error}") from None
    except (HaarborError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"{file} must hold every part of its result; {_one_line(error)}. It is damaged; make it again."
        ) from None


def _one_line(error: Exception) -> str:
    kind = "" if isinstance(error, DamagedPartError) else f"{type(error).__name__}: "
    return f"{kind}{error}".split("\n")[0].rstrip(".")
