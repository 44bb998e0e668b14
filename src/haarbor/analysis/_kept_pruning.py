"""Pruning studies kept in a run of the network."""

from __future__ import annotations

from haarbor.analysis._asked_part import asked_part
from haarbor.analysis._damaged_results import readable_result
from haarbor.analysis._pruning_results import PruningResults
from haarbor.errors import DataError
from haarbor.store import Run, RunPart

__all__ = ["PRUNING", "keep_pruning", "kept_pruning", "require_same_network"]

PRUNING = "pruning"
"""Name of the result in a run."""


def keep_pruning(
    run: Run | RunPart, found: PruningResults, *, weights: str | None = None, stream: str | None = None
) -> None:
    """Keep a pruning study in a run of the same network, in place of an earlier one.

    Parameters
    ----------
    run : Run or RunPart
    found : PruningResults
        From ``PruningStudy.results``.
    weights : str, optional
        Digest of the weights it was made with; it must be that of the run, where the run has one.
    stream : str, optional
        The first stream if not given.

    Raises
    ------
    DataError
        If the run is of another network.
    """
    part = _shown_part(asked_part(run, None, stream))
    require_same_network(part, found.n_heads, weights)
    part.save_result(found, PRUNING)


def kept_pruning(run: Run | RunPart, *, stream: str | None = None) -> PruningResults | None:
    """Pruning study that a run keeps, or None.

    Raises
    ------
    StoreError
        If it is damaged.
    """
    found = readable_result(_shown_part(asked_part(run, None, stream)), PRUNING)
    return found if isinstance(found, PruningResults) else None


def require_same_network(part: RunPart, n_heads: int, weights: str | None) -> None:
    """Raise unless a run is of a network with so many heads and these weights."""
    own = part.sizes.n_layers * part.sizes.n_heads
    if own != n_heads:
        raise DataError(
            f"the run must be of the same network; it has {own} heads, and the network {n_heads}. Name the "
            "run that was captured from this model."
        )
    recorded = part.run.plan.settings.get("weights")
    if weights is not None and recorded is not None and weights != recorded:
        raise DataError(
            f"the run must be of the same network; its weights are {str(recorded)[:19]}, and those of the "
            f"network {weights[:19]}. Name the run that was captured from this model."
        )


def _shown_part(part: RunPart) -> RunPart:
    """The probabilities of the same stream, or the logits where there are none: studies are of neither."""
    content = "probabilities" if "probabilities" in part.run.contents else "logits"
    return part.run.part(content, part.stream)
