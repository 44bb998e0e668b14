"""The training of the network as a film, from checkpoint to checkpoint."""

from __future__ import annotations

from typing import Any

from haarbor.analysis import readable_result
from haarbor.compare import FILM, TrainingFilm
from haarbor.diagnostics import TYPES
from haarbor.store import RunPart

__all__ = ["training_section"]


def training_section(part: RunPart) -> dict[str, Any] | None:
    """What was followed through the checkpoints of which this run is the last; None if nothing was."""
    film: TrainingFilm | None = readable_result(part, FILM)
    if film is None:
        return None
    return {
        "names": list(film.names),
        "steps": film.steps,
        "verdict": list(film.verdict()),
        "layers": {name: film.by_layer(name) for name in ("distances_to_last", "entropies", "sink_shares")},
        "residuals": None if film.residuals is None else film.residuals[:, 1:],
        "network": {
            "tree_correlations": film.tree_correlations,
            "structure": film.structure,
            "sink_rates": film.sink_rates,
        },
        "network_entropies": film.network_entropies,
        "types": [
            {"name": name, "place": list(TYPES).index(name), "counts": counts}
            for name, counts in film.type_counts().items()
        ],
    }
