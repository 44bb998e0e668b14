"""Which heads can go: damage by several scores, and the heads that each of them removes."""

from __future__ import annotations

from typing import Any

from haarbor.analysis import kept_pruning
from haarbor.store import RunPart

__all__ = ["pruning_section"]


def pruning_section(part: RunPart) -> dict[str, Any] | None:
    """What a pruning study of the network found; None if the run keeps none."""
    found = kept_pruning(part)
    if found is None:
        return None
    return {
        "data": found.data,
        "metric": found.metric,
        "higher_is_better": found.higher_is_better,
        "replacement": found.replacement,
        "baseline": found.baseline,
        "shares": found.shares,
        "n_removed": found.n_removed,
        "place": found.place,
        "score": found.score,
        "equals": list(found.equals),
        "verdict": list(found.verdict()),
        "scores": [
            {
                "name": name,
                "values": found.values(name),
                "errors": found.errors[name],
                "removed": found.removed[name].tolist(),
                "agreement": found.agreement.get(name),
            }
            for name in found.damages
        ],
        "healing": dict(found.healing) or None,
    }
