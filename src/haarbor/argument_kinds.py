"""Arguments of the wrong kind, told in one line: what must hold, what was found, what to do."""

from __future__ import annotations

import numbers
import os
from typing import Any

from haarbor.errors import SettingError
from haarbor.printable import printable

__all__ = [
    "found_text",
    "is_whole_number",
    "require_function",
    "require_kind",
    "require_path",
    "require_whole_number",
]

_MOST_LETTERS = 60


def found_text(value: object) -> str:
    """How a message shows what it found: one line, not too long.

    Examples
    --------
    >>> found_text("a"), found_text(None), found_text(list(range(100)))
    ("'a'", 'None', '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1 ...')
    """
    text = printable(" ".join(repr(value).split()))
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 4]} ..."


def is_whole_number(value: object) -> bool:
    """Whether `value` is a number to count with; truth values are none.

    Examples
    --------
    >>> is_whole_number(3), is_whole_number(True), is_whole_number(3.0)
    (True, False, False)
    """
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def require_kind(name: str, value: object, kind: type | tuple[type, ...], advice: str) -> None:
    """Raise unless `value` is of a kind.

    Parameters
    ----------
    name : str
        What the argument is called.
    value : object
    kind : type or tuple of type
    advice : str
        A sentence: what to pass instead.

    Raises
    ------
    SettingError
        If it is not.

    Examples
    --------
    >>> require_kind("tree", 3, str, "Pass its name.")
    Traceback (most recent call last):
    ...
    haarbor.errors.SettingError: tree must be a str; found 3. Pass its name.
    """
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = " or ".join(
            f"{'an' if one.__name__[0] in 'AEIOUaeiou' else 'a'} {one.__name__}" for one in kinds
        )
        raise SettingError(f"{name} must be {wanted}; found {found_text(value)}. {advice}")


def require_whole_number(name: str, value: Any, least: int = 0) -> int:
    """`value` as a plain int; raise unless it is a whole number of at least `least`.

    Raises
    ------
    SettingError
        If it is not.
    """
    if not is_whole_number(value) or value < least:
        raise SettingError(
            f"{name} must be a whole number from {least}; found {found_text(value)}. Pass such a number."
        )
    return int(value)


def require_function(name: str, value: object) -> None:
    """Raise unless `value` can be called or is None.

    Raises
    ------
    SettingError
        If it is neither.
    """
    if value is not None and not callable(value):
        raise SettingError(
            f"{name} must be a function; found {found_text(value)}. Pass one, or leave it out."
        )


def require_path(name: str, value: Any) -> str:
    """`value` as a text; raise unless it is a path.

    Raises
    ------
    SettingError
        If it is none.
    """
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise SettingError(f"{name} must be a path; found {found_text(value)}. Pass its name as a text.")
    return path
