"""Paths as people give them, and as messages show them."""

from __future__ import annotations

import os
from pathlib import Path

from haarbor.errors import StoreError

__all__ = ["local_path", "location_text", "shown"]


def location_text(location: object) -> str:
    """Text of a path or URL, after checking that it can be one.

    Raises
    ------
    StoreError
        If it is no text, empty, or holds characters that no place has.

    Examples
    --------
    >>> location_text("run.zarr")
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
    try:
        os.fsencode(text)
        usable = "\0" not in text
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise StoreError(
            f"a location must be a path or an address; {shown(text)} has characters that no place has. "
            "Choose another name."
        )
    return text


def local_path(location: object) -> Path:
    """Path of a file or folder, after checking that it can be one; see :func:`location_text`."""
    return Path(location_text(location))


def shown(place: str | os.PathLike[str]) -> str:
    r"""Name of a place in one line that every terminal can print.

    Examples
    --------
    >>> shown("two\nlines")
    'two\\nlines'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in os.fspath(place)
    )
