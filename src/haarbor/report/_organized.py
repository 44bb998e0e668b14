"""Whether a run holds what a page needs."""

from __future__ import annotations

from haarbor.analysis import damaged_name
from haarbor.store import RunPart

__all__ = ["is_organized", "missing_result"]

_OF_EACH_BATCH = ("head-entropy", "network-entropy", "asked")
_OF_ALL_BATCHES = ("ranking-stability", "consensus")


def missing_result(part: RunPart, n_shown: int | None = 1) -> str | None:
    """Name of a result that a page needs and that is missing or damaged; None if there is none.

    Parameters
    ----------
    part : RunPart
    n_shown : int, optional
        How many batches are shown, counted from the first; None if all may be. The page needs their trees.

    Returns
    -------
    str or None
        For example "organization of batch 3".
    """
    for place, batch in enumerate(part.batches):
        for name in _OF_EACH_BATCH:
            if part.kept_result(name, batch=batch).state != "whole":
                return damaged_name(name, batch)
        # The trees are large: they are unpacked only where they are shown; elsewhere their checksums suffice.
        if n_shown is None or place < n_shown:
            whole = part.kept_result("organization", batch=batch).state == "whole"
        else:
            whole = part.has_result("organization", batch=batch)
        if not whole:
            return damaged_name("organization", batch)
    for name in _OF_ALL_BATCHES:
        if part.kept_result(name).state != "whole":
            return damaged_name(name, None)
    return None


def is_organized(part: RunPart, n_shown: int | None = 1) -> bool:
    """Whether every batch is organised and scored, and the batches have been compared.

    See Also
    --------
    haarbor.organize_run : Organise and score every batch of a run.
    """
    return missing_result(part, n_shown) is None
