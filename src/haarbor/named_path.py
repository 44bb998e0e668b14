"""Paths that users give: anything that cannot be a path is refused in one line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from haarbor.errors import CaptureError, StoreError
from haarbor.options import found_text

__all__ = ["named_path", "require_run_place"]


def named_path(value: Any, what: str) -> Path:
    """Path that a user gave, whether or not a file is there.

    Parameters
    ----------
    value : str or path
    what : str
        What it should be the path of, with which the message begins: "a text file".

    Returns
    -------
    Path
        With ``~`` replaced by the user's home folder.

    Raises
    ------
    CaptureError
        If it is not a path, is empty, holds a NUL, is too long, or lies in a folder that may not be read.

    Examples
    --------
    >>> named_path("", "a text file")
    Traceback (most recent call last):
    ...
    haarbor.errors.CaptureError: a text file must be given by its path; found ''. Check the path.
    """
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text.strip():
        raise CaptureError(f"{what} must be given by its path; found {found_text(value)}. Check the path.")
    shown = text if len(text) <= 80 else f"{text[:40]}...{text[-30:]}"
    try:
        path = Path(text).expanduser()
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return path
    # Characters that no file system takes, names too long, links in a circle, folders closed to this user.
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise CaptureError(
            f"{what} must be given by a path that can be looked at; {shown!r} cannot: {reason}. Check "
            "the path."
        ) from error
    return path


def require_run_place(location: Any) -> None:
    """Raise if no run can be written at `location`, before anything slow begins.

    Parameters
    ----------
    location : str or path
        Where the run is to be written; URLs are not looked up.

    Raises
    ------
    StoreError
        If it is not a path, is a file, or may not be written to.
    """
    if isinstance(location, str) and "://" in location:
        return
    try:
        path = named_path(location, "a run").absolute()
    except CaptureError as error:
        raise StoreError(str(error)) from None
    nearest = next(folder for folder in (path, *path.parents) if folder.exists())
    if not nearest.is_dir():
        where = "it" if nearest == path else f"{nearest} on the way to it"
        raise StoreError(f"a run must be a folder; {where} is a file. Choose another place than {path}.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise StoreError(
            f"a run must be written to a folder that may be changed; {nearest} may not. Choose another "
            "place, or change its permissions."
        )
