"""Arrays on disk, read without unpickling anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from haarbor.array_types import AnyArray
from haarbor.errors import CaptureError, ShapeError
from haarbor.named_path import named_path

__all__ = ["loaded_array", "plain_array"]


def loaded_array(path: str | Path, preferred: str = "") -> AnyArray:
    """Array in a ``.npy`` file, mapped into memory, or the one in a ``.npz`` file.

    Parameters
    ----------
    path : str or Path
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
    path = named_path(path, "an array file")
    if not path.is_file():
        found = "it is a folder" if path.is_dir() else "there is no such file"
        raise CaptureError(f"{path} must be an array file; {found}. Check the path.")
    if path.suffix not in (".npy", ".npz"):
        raise CaptureError(f"{path.name} must be a .npy or .npz file. Save the array with numpy.save.")
    try:
        if path.suffix == ".npy":
            return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
        # Opened here, as numpy leaves a file that is no archive open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            names = list(archive.files)
            if len(names) != 1 and preferred not in names:
                called = f", or one called {preferred!r}" if preferred else ""
                raise CaptureError(
                    f"{path.name} must hold one array{called}; found {', '.join(names) or 'none':.200}. Save "
                    "the one that is meant."
                )
            return np.asarray(archive[names[0] if len(names) == 1 else preferred])
    except CaptureError:
        raise
    # A damaged or hostile file fails in whichever line of the readers of zip and npy it meets first.
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        # numpy takes whatever it does not know for a pickle, and says how to load one.
        if "pickle" in reason:
            reason = "it holds Python objects or is no array file"
        raise CaptureError(
            f"{path.name} must be an array of numbers as numpy saves it; it could not be read: "
            f"{reason.rstrip('.'):.200}. Save it again with numpy.save."
        ) from error


def plain_array(values: Any, what: str) -> AnyArray:
    """Array of what a user has in memory.

    Parameters
    ----------
    values : array_like or tensor
    what : str
        What they are, as the message begins.

    Returns
    -------
    array

    Raises
    ------
    ShapeError
        If they are no numbers in rows of one length.
    """
    try:
        if not isinstance(values, torch.Tensor):
            return np.asanyarray(values)
        dense = values.detach() if values.layout == torch.strided else values.detach().to_dense()
        # numpy has no bfloat16.
        return (dense.float() if dense.dtype == torch.bfloat16 else dense).cpu().numpy()
    except (TypeError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ShapeError(
            f"{what} must be an array or tensor of numbers; found {type(values).__name__} "
            f"({reason.rstrip('.')}). Make them an array first."
        ) from error
