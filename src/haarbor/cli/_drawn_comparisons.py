"""Figures of the comparisons, films and pruning studies that runs keep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from haarbor.store import RunPart

__all__ = ["drawn_comparisons"]


def drawn_comparisons(parts: Sequence[RunPart], folder: Path) -> list[Path]:
    """Draw what runs keep of comparisons, films and pruning; of several runs each has its number in the name.

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
    from haarbor.compare import COMPARISON, FILM
    from haarbor.plots import comparison_figure, pruning_figure, save_figure, training_figure

    written: list[Path] = []
    for number, part in enumerate(parts):
        ending = f"_{number + 1}" if len(parts) > 1 else ""
        compared, film = (readable_result(part, name) for name in (COMPARISON, FILM))
        figures = {}
        if compared is not None:
            figures["comparison"] = comparison_figure(compared)
        if film is not None:
            figures["training"] = training_figure(film)
        pruned = kept_pruning(part)
        if pruned is not None:
            figures["pruning"] = pruning_figure(pruned)
        for name, figure in figures.items():
            for kind in ("png", "svg"):
                written.append(save_figure(figure, folder / f"{name}{ending}.{kind}"))
    return written
