"""The network compared with others: matched heads and layers, in numbers and words."""

from __future__ import annotations

from typing import Any

from haarbor.analysis import readable_result
from haarbor.compare import COMPARISON, Comparison, RunComparison, verdict
from haarbor.store import RunPart

__all__ = ["networks_section"]


def networks_section(part: RunPart) -> dict[str, Any] | None:
    """What the last comparison that began with this run found; None if there was none."""
    found: Comparison | None = readable_result(part, COMPARISON)
    if found is None:
        return None
    return {
        "names": list(found.names),
        "distances": found.distances(),
        "pairs": [_told(pair, is_own=found.names[0] == pair.names[0]) for pair in found.pairs],
    }


def _told(pair: RunComparison, *, is_own: bool) -> dict[str, Any]:
    relative = None if pair.matched is None else pair.matched / (pair.chance or 1.0)
    return {
        "names": list(pair.names),
        "is_own": is_own,
        "verdict": list(verdict(pair)),
        "matched_by": pair.method,
        "heads": [[pair.label(side, head) for head in pair.pairs[:, side]] for side in (0, 1)],
        "places": pair.pairs[:, 0],
        "matched": relative,
        "entropies": [pair.entropies[side][pair.pairs[:, side]] for side in (0, 1)],
        "layers": {
            name: values
            for name, values in (
                ("distance", pair.layer_distances()),
                ("cka", pair.cka),
                ("cka_other_tokens", pair.cka_other_tokens),
            )
            if values is not None
        },
    }
