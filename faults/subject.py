"""A function of Haarbor to be called: good arguments, how to spoil each, and the laws of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faults.spoilt import Spoilt

__all__ = ["SUBJECTS", "Call", "subject"]

Spoil = Callable[[np.random.Generator, Any], Spoilt]
Law = Callable[[Any, Mapping[str, Any]], str | None]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Call:
    """A call with good arguments, and everything needed to spoil and judge it."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    spoil: Mapping[str, Spoil]
    """For each argument that can be spoilt, what makes something else of it."""
    law: Law = lambda answer, arguments: None
    """What is wrong with the answer to good arguments, and to those that were only disguised."""
    always: Law = lambda answer, arguments: None
    """What is wrong with any answer at all."""
    nan_allowed: tuple[str, ...] = ()
    """Parts of the answer that may be NaN, because the function says so."""
    scaled: Callable[[Any, int], Any] | None = None
    """Answer for the scaled argument, given that for the plain one and the exponent of two."""
    scaled_to_the_last: bool = False
    """Whether that holds for numbers too small to keep all their digits, too."""
    tol: float = 1e-9
    """For comparisons after scaling."""
    rounding: Mapping[str, float] | None = None
    """What parts of the answer may differ by after scaling besides, by ends of their names."""
    fits: Callable[[Mapping[str, Any]], bool] = lambda arguments: False
    """Whether arguments that do not fit the good ones fit each other, and so must be answered."""


SUBJECTS: dict[str, Callable[[np.random.Generator], Call]] = {}
"""For each function called, what makes a good call of it."""


def subject(name: str) -> Callable[[Callable[[np.random.Generator], Call]], Callable[..., Call]]:
    """Add what makes a good call of a function to `SUBJECTS`, under the function's name."""

    def added(make: Callable[[np.random.Generator], Call]) -> Callable[..., Call]:
        SUBJECTS[name] = make
        return make

    return added
