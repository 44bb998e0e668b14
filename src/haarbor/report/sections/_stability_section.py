"""How far the batches agree on the ranking of the heads and on their tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.analysis import readable_result
from haarbor.questionnaire import Consensus
from haarbor.store import RunPart
from haarbor.wavelets import RankingStability

__all__ = ["stability_section"]


def stability_section(part: RunPart) -> dict[str, Any] | None:
    """Agreement of the batches; None for a run of one batch."""
    stability: RankingStability | None = readable_result(part, "ranking-stability")
    if stability is None or stability.n_batches < 2:
        return None
    consensus: Consensus = part.load_result("consensus")
    return {
        "kendall_tau": stability.kendall_tau,
        "top_jaccard": stability.top_jaccard,
        "bottom_jaccard": stability.bottom_jaccard,
        "top_counts": stability.top_counts,
        "bottom_counts": stability.bottom_counts,
        "set_size": stability.set_size,
        "means": [
            float(value) if np.isfinite(value) else None
            for value in (
                stability.mean_kendall_tau,
                stability.mean_top_jaccard,
                stability.mean_bottom_jaccard,
            )
        ],
        "tree_distance": consensus.tree_distance,
        "distance_correlation": consensus.distance_correlation,
    }
