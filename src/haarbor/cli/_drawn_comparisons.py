"""Figures of what runs keep beside trees and scores: comparisons, films, rank collapse, pruning studies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from haarbor.store import RunPart

__all__ = ["drawn_comparisons"]


def drawn_comparisons(parts: Sequence[RunPart], folder: Path) -> list[Path]:
    """Draw comparisons, films, rank collapse and pruning that runs keep; of several runs each has a number.

    Parameters
    ----------
    parts : sequence of RunPart
    folder : Path

    Returns
    -------
    list of Path
        Files written; none where nothing is kept.

    Raises
    ------
    StoreError
        If a result is damaged.
    """
    from haarbor.analysis import kept_pruning, readable_result
    from haarbor.collapse import kept_collapse, kept_paths
    from haarbor.compare import COMPARISON, FILM
    from haarbor.plots import (
        collapse_figure,
        comparison_figure,
        path_figure,
        pruning_figure,
        save_figure,
        training_figure,
    )

    written: list[Path] = []
    for number, part in enumerate(parts):
        ending = f"_{number + 1}" if len(parts) > 1 else ""
        compared, film = (readable_result(part, name) for name in (COMPARISON, FILM))
        figures = {}
        if compared is not None:
            figures["comparison"] = comparison_figure(compared)
        if film is not None:
            figures["training"] = training_figure(film)
        collapse, paths = kept_collapse(part), kept_paths(part)
        if collapse is not None:
            figures["collapse"] = collapse_figure(
                collapse.results, bounds=collapse.bounds, title=f"Rank collapse of {part.run.model}"
            )
        if paths is not None:
            figures["paths"] = path_figure(paths, title=f"Paths through the heads of {part.run.model}")
        pruned = kept_pruning(part)
        if pruned is not None:
            figures["pruning"] = pruning_figure(pruned)
        for name, figure in figures.items():
            for kind in ("png", "svg"):
                written.append(save_figure(figure, folder / f"{name}{ending}.{kind}"))
    return written
