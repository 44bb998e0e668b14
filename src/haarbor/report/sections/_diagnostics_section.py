"""What each head looks at: its type in words, with the number behind it."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.diagnostics import TYPES, kept_model_diagnostics, run_types
from haarbor.store import RunPart

__all__ = ["diagnostics_section"]


def diagnostics_section(part: RunPart) -> dict[str, Any] | None:
    """Type of every head; None if the run holds no head diagnostics."""
    types = run_types(part)
    if not types:
        return None
    # In the order of the list of types, which does not change from run to run.
    there = [name for name in TYPES if any(kind.name == name for kind in types)]
    return {
        "types": [{"name": name, "meaning": TYPES[name]} for name in there],
        "places": [list(TYPES).index(name) for name in there],
        "of_heads": [there.index(kind.name) for kind in types],
        "decided_by": [kind.figure for kind in types],
        "decided_at": [kind.value for kind in types],
        "depths": _depths(part),
    }


def _depths(part: RunPart) -> dict[str, Any] | None:
    """Medians over the samples of the figures of the tokens by depth; None if they were not measured."""
    found = kept_model_diagnostics(part)
    if found is None or not found.states:
        return None
    names = ("largest", "median", "cosine")
    return {name: np.median(found.states[name], axis=1) for name in names}
