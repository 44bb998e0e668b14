"""A spoilt argument, and what is then demanded of the call."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

__all__ = ["Spoilt", "one_of"]


class Spoilt(NamedTuple):
    """A value to pass in place of a good one."""

    name: str
    """What was done to it, in words."""
    value: Any
    demand: Literal["refused", "same", "alike", "either"]
    """Refused, for what has no answer; the same answer as for `like`; alike: that or refused."""
    like: Any = None
    """A plain value that must give the same answer; the good one where this is None."""
    exponent: int | None = None
    """The numbers are those of `like` times two to this power."""


def one_of(rng: np.random.Generator, choices: Any) -> Any:
    """One of some things, each as likely as the others; numpy would turn them into an array."""
    listed = list(choices)
    return listed[int(rng.integers(len(listed)))]
