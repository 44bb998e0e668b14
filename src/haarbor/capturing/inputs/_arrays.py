"""Arrays from files, read without unpickling anything, and from memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from haarbor.array_types import AnyArray
from haarbor.capturing._first_line import first_line
from haarbor.errors import CaptureError, ShapeError
from haarbor.named_path import named_path

__all__ = ["archived_array", "loaded_array", "plain_array"]


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
    if path.suffix == ".npy":
        with _told_if_damaged(path.name):
            return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
    with _opened_archive(path) as archive:
        names = list(archive.files)
        if len(names) != 1 and preferred not in names:
            called = f", or one called {preferred!r}" if preferred else ""
            raise CaptureError(
                f"{path.name} must hold one array{called}; found {', '.join(names) or 'none':.200}. Save "
                "the one that is meant."
            )
        return np.asarray(archive[names[0] if len(names) == 1 else preferred])


def archived_array(path: Path, name: str) -> AnyArray | None:
    """Array of a name in a ``.npz`` file; None where there is none of this name.

    Parameters
    ----------
    path : Path
        Of a file that exists.
    name : str

    Returns
    -------
    array or None

    Raises
    ------
    CaptureError
        If the file is damaged, or the array holds Python objects.
    """
    with _opened_archive(path) as archive:
        return np.asarray(archive[name]) if name in archive.files else None


@contextmanager
def _opened_archive(path: Path) -> Iterator[Any]:
    # The file is opened here, as numpy leaves a file that is no archive open.
    with _told_if_damaged(path.name), path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        yield archive


@contextmanager
def _told_if_damaged(name: str) -> Iterator[None]:
    """Say in one line what is wrong with an array file that numpy reads while the block runs."""
    try:
        yield
    except CaptureError:
        raise
    # A damaged or hostile file fails in whichever line of the readers of zip and npy it meets first.
    except Exception as error:
        reason = first_line(error)
        # numpy takes any file that it does not know for a pickle, and its message says how to load one.
        if "pickle" in reason:
            reason = "it holds Python objects or is no array file"
        raise CaptureError(
            f"{name} must be an array of numbers as numpy saves it; it could not be read: "
            f"{reason:.200}. Save it again with numpy.save."
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
        reason = first_line(error)
        raise ShapeError(
            f"{what} must be an array or tensor of numbers; found {type(values).__name__} "
            f"({reason}). Make them an array first."
        ) from error
