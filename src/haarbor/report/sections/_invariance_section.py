"""How nearly the softmax of each head is a linear function of its logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.analysis import measured
from haarbor.array_types import FloatArray
from haarbor.store import RunPart

__all__ = ["invariance_section"]

_FORMS = ("exact", "paper", "invariance", "linear")


def invariance_section(part: RunPart) -> dict[str, Any] | None:
    """Numbers of the first batch that was measured; None if none was."""
    first = next(measured(part, "softmax-invariance"), None)
    if first is None:
        return None
    batch, found = first
    return {
        "batch": batch,
        "figures": {name: found.figures[name] for name in _FORMS},
        "logit_deviation": found.logit_deviation,
        "medians": {
            "organised": [_median(found.figures[name]) for name in _FORMS],
            "shuffled_trees": [_median(found.shuffled_trees[name]) for name in _FORMS],
            "shuffled_rows": [_median(found.shuffled_rows[name]) for name in _FORMS],
        },
        "correlations": found.correlations(),
        "trees": found.settings,
    }


def _median(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")
