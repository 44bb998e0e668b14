"""Results kept in a run, and what is said of those that were damaged."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from haarbor.errors import ResultWarning, StoreError
from haarbor.store import RunPart

__all__ = ["damaged_name", "readable_result", "tell_remade", "whole_result"]

_N_NAMED = 5


def damaged_name(name: str, batch: int | None) -> str:
    """How a result is named where it is told of.

    Examples
    --------
    >>> damaged_name("organization", 3), damaged_name("consensus", None)
    ('organization of batch 3', 'consensus of all batches')
    """
    return f"{name} of {'all batches' if batch is None else f'batch {batch}'}"


def whole_result(part: RunPart, name: str, kind: type, damaged: list[str], *, batch: int | None) -> Any:
    """Result if the run holds it whole; None if it has to be made.

    Parameters
    ----------
    part : RunPart
    name : str
    kind : type
        What it must be.
    damaged : list of str
        Gets its name where it was damaged, or is of another kind.
    batch : int or None
        That it was made from; None for all.
    """
    kept = part.kept_result(name, batch=batch)
    if kept.state == "damaged" or (kept.state == "whole" and not isinstance(kept.value, kind)):
        damaged.append(damaged_name(name, batch))
        return None
    return kept.value


def readable_result(part: RunPart, name: str, *, batch: int | None = None) -> Any:
    """Result of the batches as they are, None if there is none.

    Raises
    ------
    StoreError
        If it is damaged.
    """
    kept = part.kept_result(name, batch=batch)
    if kept.state == "damaged":
        raise StoreError(kept.reason)
    return kept.value


def tell_remade(damaged: Sequence[str]) -> None:
    """Warn of results that were damaged and have been made again; nothing where there were none."""
    if not damaged:
        return
    named = ", ".join(damaged[:_N_NAMED])
    more = f", and {len(damaged) - _N_NAMED} more" if len(damaged) > _N_NAMED else ""
    warnings.warn(
        f"results kept in a run must be whole; found damaged, and made again: {named}{more}. Check the disk.",
        ResultWarning,
        stacklevel=3,
    )
