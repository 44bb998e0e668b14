"""A hostile file, ready to be read."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from faults.judged_call import Demand

__all__ = ["HostileFile", "Prepared", "deep_json", "treacherous_pickle"]


class Prepared(NamedTuple):
    """What is there, how it is read, and what must come of it."""

    name: str
    read: Callable[[], Any]
    demand: Demand = "either"
    law: Callable[[Any], str | None] = lambda answer: None


class HostileFile(NamedTuple):
    """A sort of hostile file."""

    make: Callable[[np.random.Generator, int, Path], Prepared]
    """Given the seed, too, so that every variant gets its turn."""
    n_short: int
    n_long: int


class _Treacherous:
    """Writes a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.write_text, (self._target, "done"))


def treacherous_pickle(folder: Path) -> bytes:
    """Pickle that leaves a file named ``executed`` in a folder when it is read."""
    return pickle.dumps(_Treacherous(folder / "executed"))


def deep_json(depth: int = 50_000) -> str:
    """JSON nested more deeply than a parser that calls itself can follow."""
    return "[" * depth + "]" * depth
