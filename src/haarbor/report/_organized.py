"""Whether a run holds what a page needs, and how it was organised before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from haarbor.analysis import damaged_name, question_before
from haarbor.store import Run

__all__ = ["asked_before", "is_organized", "missing_result"]

_OF_EACH_BATCH = ("head-entropy", "network-entropy", "asked")
_OF_ALL_BATCHES = ("ranking-stability", "consensus")


def missing_result(run: Run, chosen: Mapping[str, Any], n_shown: int = 1) -> str | None:
    """Result that a page needs and the run has not, or has damaged; None if it has all.

    Parameters
    ----------
    run : Run
    chosen : mapping
        The content and the stream.
    n_shown : int, default 1
        How many batches are shown, the first ones. Of these the page needs the trees.

    Returns
    -------
    str or None
        As in "organization of batch 3".
    """
    for place, batch in enumerate(run.batches):
        for name in _OF_EACH_BATCH:
            if run.kept_result(name, batch=batch, **chosen).state != "whole":
                return damaged_name(name, batch)
        # Large: read only where it is shown.
        if place < n_shown:
            whole = run.kept_result("organization", batch=batch, **chosen).state == "whole"
        else:
            whole = run.has_result("organization", batch=batch, **chosen)
        if not whole:
            return damaged_name("organization", batch)
    for name in _OF_ALL_BATCHES:
        if run.kept_result(name, **chosen).state != "whole":
            return damaged_name(name, None)
    return None


def is_organized(run: Run, chosen: Mapping[str, Any], n_shown: int = 1) -> bool:
    """Whether every batch is organised and scored, and all of them together."""
    return missing_result(run, chosen, n_shown) is None


def asked_before(run: Run, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of ``organize_run`` that the run was organised with, or the usual ones if it was not."""
    return question_before(run, chosen).to_result()
