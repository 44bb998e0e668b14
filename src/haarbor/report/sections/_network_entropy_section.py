"""Haar entropy of the network as a whole, batch by batch."""

from __future__ import annotations

from typing import Any

from haarbor.analysis import readable_result
from haarbor.store import RunPart
from haarbor.wavelets import NetworkEntropy

__all__ = ["network_entropy_section"]

_FIELDS = ("raw", "normalised", "mean_removed", "energy_share", "all_scales", "fine_share")


def network_entropy_section(part: RunPart) -> dict[str, Any] | None:
    """Entropies of the network on every batch; None if one is missing."""
    found = [readable_result(part, "network-entropy", batch=batch) for batch in part.batches]
    each: list[NetworkEntropy] = [entropy for entropy in found if entropy is not None]
    if len(each) < len(found):
        return None
    values = {name: [getattr(entropy, name) for entropy in each] for name in _FIELDS}
    return {
        **values,
        "tie_interval": [list(entropy.tie_interval) for entropy in each],
        "k": each[0].k,
        "n_functions": each[0].n_functions,
    }
