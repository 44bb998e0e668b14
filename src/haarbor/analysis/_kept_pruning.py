"""Pruning studies kept in a run of the network."""

from __future__ import annotations

from haarbor.analysis._asked_part import asked_part
from haarbor.analysis._damaged_results import readable_result
from haarbor.analysis._pruning_results import PruningResults
from haarbor.analysis._same_network import require_same_network
from haarbor.store import Run, RunPart

__all__ = ["PRUNING", "keep_pruning", "kept_pruning"]

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

    See Also
    --------
    haarbor.analysis.kept_pruning : The study that a run keeps.
    haarbor.pruning.pruning_study : Scores, damage and a recommendation.
    """
    part = _shown_part(asked_part(run, None, stream))
    require_same_network(part, weights=weights, n_heads=found.n_heads)
    part.save_result(found, PRUNING)


def kept_pruning(run: Run | RunPart, *, stream: str | None = None) -> PruningResults | None:
    """Pruning study that a run keeps, or None.

    Raises
    ------
    StoreError
        If it is damaged.

    See Also
    --------
    haarbor.analysis.keep_pruning : Keep a pruning study in a run.
    haarbor.plots.pruning_figure : Draws a study.
    """
    found = readable_result(_shown_part(asked_part(run, None, stream)), PRUNING)
    return found if isinstance(found, PruningResults) else None


def _shown_part(part: RunPart) -> RunPart:
    """The probabilities of the same stream, or the logits where there are none: studies are of neither."""
    content = "probabilities" if "probabilities" in part.run.contents else "logits"
    return part.run.part(content, part.stream)
