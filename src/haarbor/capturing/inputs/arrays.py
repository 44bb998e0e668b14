"""Arrays on disk, read without unpickling anything."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.errors import CaptureError

__all__ = ["loaded_array"]


def loaded_array(path: Path, preferred: str = "") -> AnyArray:
    """Array in a ``.npy`` file, mapped into memory, or the one in a ``.npz`` file.

    Parameters
    ----------
    path : Path
    preferred : str, optional
        Name of the array to take where a ``.npz`` file has several.

    Returns
    -------
    array

    Raises
    ------
    CaptureError
        If there is no such file, it is damaged, holds Python objects, or does not say which array is
        meant.
    """
    if not path.is_file():
        raise CaptureError(f"{path} must be an array file; there is no such file. Check the path.")
    if path.suffix not in (".npy", ".npz"):
        raise CaptureError(f"{path.name} must be a .npy or .npz file. Save the array with numpy.save.")
    try:
        if path.suffix == ".npy":
            return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
        with np.load(path, allow_pickle=False) as archive:
            names = list(archive.files)
            if len(names) != 1 and preferred not in names:
                raise CaptureError(
                    f"{path.name} must hold one array, or one called {preferred!r}; found "
                    f"{', '.join(names) or 'none'}. Save the one that is meant."
                )
            return np.asarray(archive[names[0] if len(names) == 1 else preferred])
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CaptureError(
            f"{path.name} must be an array of numbers as numpy saves it; it could not be read: {reason}"
        ) from error
