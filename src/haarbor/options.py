"""Options of functions: numbers and choices, and what is said if they cannot be used."""

import math
from collections.abc import Sequence
from numbers import Integral

import numpy as np

from haarbor.errors import SettingError

__all__ = ["bounded_seed", "is_row", "real_number", "require_choice", "require_flag", "shown", "whole_number"]

_LONGEST = 80


def shown(value: object) -> str:
    """`value` as it stands in a message: one line, and not a long one.

    Examples
    --------
    >>> shown(2.5), shown([0] * 100)[-8:], shown(10**5000)
    ('2.5', ', 0, ...', 'a whole number of 16610 bits')
    """
    if isinstance(value, int) and abs(value) >> 256:
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 4] + "..."


def is_row(value: object) -> bool:
    """Whether `value` is a list, a tuple or the like, or an array of one axis; a text is none.

    Examples
    --------
    >>> is_row(["query", "key"]), is_row("query"), is_row({"query"}), is_row(np.array("query"))
    (True, False, False, False)
    """
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return isinstance(value, Sequence) and not isinstance(value, str)


def require_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise unless `value` is one of the texts in `choices`.

    Examples
    --------
    >>> require_choice("tree", "binary", ("flexible", "binary"))
    """
    if not isinstance(value, str) or value not in choices:
        raise SettingError(
            f"{name} must be one of {', '.join(map(repr, choices))}; found {shown(value)}. Pass one of them."
        )


def require_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False: the text "False" would count as true."""
    if not isinstance(value, bool | np.bool_):
        raise SettingError(f"{name} must be True or False; found {shown(value)}. Pass one of them.")


def whole_number(name: str, value: object, least: int = 0, most: int | None = None) -> int:
    """`value` as an int after checking that it is one within bounds; True and 2.0 are none.

    Examples
    --------
    >>> whole_number("k", np.int64(3), 1)
    3
    """
    bounds = f"from {least}" if most is None else f"in {least}..{most}"
    advice = f"Pass one {bounds}."
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise SettingError(f"{name} must be a whole number {bounds}; found {shown(value)}. {advice}")
    number = int(value)
    if number < least or (most is not None and number > most):
        raise SettingError(f"{name} must be a whole number {bounds}; found {shown(number)}. {advice}")
    return number


def real_number(
    name: str,
    value: object,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    positive: bool = False,
) -> float:
    """`value` as a finite float after checking that it is one within bounds; True is none.

    Examples
    --------
    >>> real_number("p", np.float32(0.5), positive=True)
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
        number = float(value) if usable else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or not least <= number <= most or (positive and number <= 0):
        raise SettingError(f"{name} must {rule}; found {shown(value)}. Pass such a number.")
    return number


def bounded_seed(value: object, name: str = "seed") -> int:
    """`value` as the seed of a generator of random numbers, a whole number of at most 64 bits.

    Examples
    --------
    >>> bounded_seed(7)
    7
    """
    return whole_number(name, value, 0, 2**64 - 1)
