"""Checks of arguments: what a function says, in one line, about an argument it cannot use.

Each ``require_`` function raises a :class:`~haarbor.errors.SettingError` that says what must hold, what
was found and what to do. Those that check numbers and paths return the value as a plain Python object.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from haarbor.errors import SettingError
from haarbor.printable import printable

__all__ = [
    "found_text",
    "is_row",
    "is_whole_number",
    "require_choice",
    "require_flag",
    "require_function",
    "require_kind",
    "require_path",
    "require_real_number",
    "require_seed",
    "require_whole_number",
]

_MOST_LETTERS = 80


def found_text(value: object) -> str:
    """Text of `value` for a message: one printable line of at most 80 letters.

    Examples
    --------
    >>> found_text(2.5), found_text("a"), found_text([0] * 100)[-8:], found_text(10**5000)
    ('2.5', "'a'", ', 0, ...', 'a whole number of 16610 bits')
    """
    if isinstance(value, int) and abs(value) >> 256:
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = printable(" ".join(repr(value).split()))
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 4] + "..."


def is_row(value: object) -> bool:
    """Whether `value` is a sequence such as a list, or an array with one axis; a text does not count.

    Examples
    --------
    >>> is_row(["query", "key"]), is_row("query"), is_row({"query"}), is_row(np.array("query"))
    (True, False, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, Sequence) and not isinstance(value, str)


def is_whole_number(value: object) -> bool:
    """Whether `value` is an integer of Python or NumPy; True and 3.0 do not count.

    Examples
    --------
    >>> is_whole_number(3), is_whole_number(True), is_whole_number(3.0)
    (True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def require_kind(name: str, value: object, kind: type | tuple[type, ...], advice: str) -> None:
    """Raise unless `value` is an instance of `kind`.

    Parameters
    ----------
    name : str
        Name of the argument.
    value : object
    kind : type or tuple of type
    advice : str
        A sentence that says what to pass instead.

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


def require_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of the texts in `choices`.

    Examples
    --------
    >>> require_choice("tree", "binary", ("flexible", "binary"))
    """
    if not isinstance(value, str) or value not in choices:
        raise SettingError(
            f"{name} must be one of {', '.join(map(repr, choices))}; found {found_text(value)}. "
            "Pass one of them."
        )


def require_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False: the text "False" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise SettingError(f"{name} must be True or False; found {found_text(value)}. Pass one of them.")


def require_function(name: str, value: object) -> None:
    """Raise unless `value` can be called or is None."""
    if value is not None and not callable(value):
        raise SettingError(
            f"{name} must be a function; found {found_text(value)}. Pass one, or leave it out."
        )


def require_path(name: str, value: Any) -> str:
    """`value` as a text; raise unless it is a text or path that a file can have."""
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise SettingError(f"{name} must be a path; found {found_text(value)}. Pass its name as a text.")
    return path


def require_whole_number(name: str, value: Any, least: int = 0, most: int | None = None) -> int:
    """`value` as a plain int; raise unless it is a whole number from `least` to `most`.

    Examples
    --------
    >>> require_whole_number("k", np.int64(3), 1)
    3
    """
    if not is_whole_number(value) or value < least or (most is not None and value > most):
        bounds = f"from {least}" if most is None else f"in {least}..{most}"
        raise SettingError(
            f"{name} must be a whole number {bounds}; found {found_text(value)}. Pass such a number."
        )
    return int(value)


def require_real_number(
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    positive: bool = False,
) -> float:
    """`value` as a plain float; raise unless it is a finite number within the bounds. True is refused.

    Examples
    --------
    >>> require_real_number("p", np.float32(0.5), positive=True)
    0.5
    """
    if math.isfinite(most):
        rule = f"lie between {least:g} and {most:g}"
    elif positive:
        rule = "be positive and finite"
    else:
        rule = f"be finite and at least {least:g}" if math.isfinite(least) else "be a finite number"
    usable = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    try:
        number = float(value) if usable else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not least <= number <= most or (positive and number <= 0):
        raise SettingError(f"{name} must {rule}; found {found_text(value)}. Pass such a number.")
    return number


def require_seed(value: Any, name: str = "seed") -> int:
    """`value` as the seed of a generator of random numbers, a whole number of at most 64 bits.

    Examples
    --------
    >>> require_seed(7)
    7
    """
    return require_whole_number(name, value, 0, 2**64 - 1)
