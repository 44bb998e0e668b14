"""How nearly the softmax of each head is its logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from haarbor.analysis import RunInvariance
from haarbor.analysis.softmax_scores import measured_batches
from haarbor.array_types import FloatArray
from haarbor.store import Run

__all__ = ["invariance_section"]

_FORMS = ("exact", "paper", "invariance", "linear")


def invariance_section(run: Run, chosen: Mapping[str, Any]) -> dict[str, Any] | None:
    """Figures of the first batch that was measured; None where none was."""
    batches = measured_batches(run, "softmax-invariance", chosen["stream"])
    if not batches:
        return None
    found: RunInvariance = run.load_result(
        "softmax-invariance", batch=batches[0], content="logits", stream=chosen["stream"]
    )
    return {
        "batch": batches[0],
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
