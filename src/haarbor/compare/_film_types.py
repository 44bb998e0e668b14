"""Types of the heads at every checkpoint of a training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.diagnostics import TYPES, head_types, kept_model_diagnostics, run_diagnostics
from haarbor.errors import DataError
from haarbor.store import RunPart

__all__ = ["FilmTypes", "film_types", "told_types", "type_counts"]

FilmTypes = tuple[tuple[str, ...], ...]
"""Name of the type of each head, for every checkpoint; () where types are not known."""
_UNSPECIFIC = ("broad", "mixed")


def film_types(parts: Sequence[RunPart]) -> FilmTypes:
    """Types of all heads at every checkpoint, by the same figures throughout.

    Diagnostics that a run does not hold yet are made, and kept in it. Figures on repeated tokens count where
    every run holds them: else induction heads would seem to appear with the runs that were measured.

    Parameters
    ----------
    parts : sequence of RunPart
        Of one architecture.

    Returns
    -------
    tuple of tuple of str
        () where the runs do not hold attention of single tokens.
    """
    try:
        each = [run_diagnostics(part) for part in parts]
    except DataError:
        return ()
    measured = [kept_model_diagnostics(part) for part in parts]
    repeated = [{} if one is None else one.repeated for one in measured]
    everywhere = all(repeated)
    return tuple(
        tuple(kind.name for kind in head_types(one, figures if everywhere else None))
        for one, figures in zip(each, repeated, strict=True)
    )


def type_counts(types: FilmTypes) -> dict[str, IntArray]:
    """Heads of each type at every checkpoint, those types that occur, in the order of `TYPES`.

    Examples
    --------
    >>> found = type_counts((("broad", "broad"), ("diagonal", "broad")))
    >>> {name: counts.tolist() for name, counts in found.items()}
    {'diagonal': [0, 1], 'broad': [2, 1]}
    """
    return {
        name: np.array([one.count(name) for one in types])
        for name in TYPES
        if any(name in one for one in types)
    }


def told_types(types: FilmTypes, steps: FloatArray) -> str:
    """When types of heads appear, in a sentence; "" where no head ever has a type that says something."""
    counts = {name: found for name, found in type_counts(types).items() if name not in _UNSPECIFIC}
    if not counts:
        return ""
    n_heads = len(types[0])
    seen = sorted((int(np.flatnonzero(found)[0]), name) for name, found in counts.items())
    listed = ", ".join(
        f"{name} at step {steps[place]:g} ({_number(counts[name][-1])} at the end)" for place, name in seen
    )
    return f"Types of the {n_heads} heads, when they are first seen: {listed}."


def _number(count: int) -> str:
    return "none" if count == 0 else str(int(count))
