"""Reading the results kept in a run, and the warning where some of them were damaged."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from haarbor.errors import ResultWarning, StoreError
from haarbor.store import RunPart

__all__ = ["damaged_name", "readable_result", "tell_remade", "whole_result"]

_N_NAMED = 5


def damaged_name(name: str, batch: int | None) -> str:
    """Name of a result in messages.

    Examples
    --------
    >>> damaged_name("organization", 3), damaged_name("consensus", None)
    ('organization of batch 3', 'consensus of all batches')
    """
    return f"{name} of {'all batches' if batch is None else f'batch {batch}'}"


def whole_result(part: RunPart, name: str, kind: type, damaged: list[str], *, batch: int | None) -> Any:
    """Return a result if the run holds it undamaged, or None if it has to be computed.

    Parameters
    ----------
    part : RunPart
    name : str
    kind : type
        Class that the result must have.
    damaged : list of str
        The name of the result is appended where it is damaged or of another class.
    batch : int or None
        The batch it was made from; None for all batches together.
    """
    kept = part.kept_result(name, batch=batch)
    if kept.state == "damaged" or (kept.state == "whole" and not isinstance(kept.value, kind)):
        damaged.append(damaged_name(name, batch))
        return None
    return kept.value


def readable_result(part: RunPart, name: str, *, batch: int | None = None) -> Any:
    """Return a result that the run holds, or None if it holds none of that name.

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
    """Warn that the results named in `damaged` were damaged and have been made again, if there are any."""
    if not damaged:
        return
    named = ", ".join(damaged[:_N_NAMED])
    more = f", and {len(damaged) - _N_NAMED} more" if len(damaged) > _N_NAMED else ""
    warnings.warn(
        f"results kept in a run must be whole; found damaged, and made again: {named}{more}. Check the disk.",
        ResultWarning,
        stacklevel=3,
    )
