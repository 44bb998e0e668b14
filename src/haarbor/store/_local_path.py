"""Paths and URLs as people give them, checked before they are used."""

from __future__ import annotations

import os
from pathlib import Path

from haarbor.errors import StoreError
from haarbor.printable import printable

__all__ = ["checked_location", "local_path"]

# No file system takes longer paths; messages show a path whole.
_MOST_LETTERS = 4096


def checked_location(location: object) -> str:
    """A path or URL as a text, after checking that it can be one.

    Raises
    ------
    StoreError
        If it is no text, empty, too long, or holds characters that no place has.

    Examples
    --------
    >>> checked_location("run.zarr")
    'run.zarr'
    """
    try:
        text = os.fspath(location)  # type: ignore[call-overload]
    except TypeError:
        text = None
    if not isinstance(text, str):
        raise StoreError(
            f"a location must be a path or an address; found {type(location).__name__}. Pass a text."
        )
    if not text:
        raise StoreError("a location must be a path or an address; found an empty text. Name a place.")
    if len(text) > _MOST_LETTERS:
        raise StoreError(
            f"a location must have at most {_MOST_LETTERS} letters; found {len(text)}. The path is too long: "
            "choose a shorter one."
        )
    try:
        os.fsencode(text)
        usable = "\0" not in text
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise StoreError(
            f"a location must be a path or an address; {printable(text)} has characters that no place has. "
            "Choose another name."
        )
    return text


def local_path(location: object) -> Path:
    """Path of a file or folder, after checking that it can be one; see :func:`checked_location`."""
    return Path(checked_location(location))
