"""Exponents of the folder weights, one pair per axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from haarbor.errors import SettingError
from haarbor.options import found_text, require_real_number
from haarbor.trees import LARGEST_EXPONENT

__all__ = ["exponent_by_axis"]


def exponent_by_axis(name: str, value: float | Mapping[str, float], axes: Sequence[str]) -> dict[str, float]:
    """One finite number of moderate size per axis, from one number for all or a mapping.

    Parameters
    ----------
    name : str
        What messages call the number.
    value : float or mapping of axis name to float
    axes : sequence of str
        Every axis that needs a number.

    Examples
    --------
    >>> exponent_by_axis("alpha", 1, ("query", "key"))
    {'query': 1.0, 'key': 1.0}
    """
    if isinstance(value, Mapping):
        missing = [axis for axis in axes if axis not in value]
        unknown = [axis for axis in value if axis not in axes]
        if missing or unknown:
            raise SettingError(
                f"{name} must be one number or one for each of {tuple(axes)}; "
                + (f"missing {missing}" if missing else f"unknown {found_text(unknown)}")
                + ". Pass a number, or a dict with these axes."
            )
        numbers = {axis: value[axis] for axis in axes}
    else:
        numbers = dict.fromkeys(axes, value)
    return {
        axis: require_real_number(
            f"{name} of axis {axis!r}", number, least=-LARGEST_EXPONENT, most=LARGEST_EXPONENT
        )
        for axis, number in numbers.items()
    }
