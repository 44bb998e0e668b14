"""Additive masks: which entries they close, and what they add to the others."""

from __future__ import annotations

import torch

__all__ = ["bias_and_mask", "open_entries"]

# Closed entries hold the most negative number, minus infinity, or -10,000 and less by hand. Sums of one
# of these with a score stay far below what any trained network gives as a score.
_CLOSED = -5000.0


def open_entries(mask: torch.Tensor) -> torch.Tensor:
    """True where a mask, boolean or additive, lets a query see a key.

    Examples
    --------
    >>> open_entries(torch.tensor([0.0, 1.5, -1e4, float("-inf")])).tolist()
    [True, True, False, False]
    """
    return mask if mask.dtype == torch.bool else mask > _CLOSED


def bias_and_mask(additive: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Split an additive mask into what it adds to open entries and which entries are open.

    Parameters
    ----------
    additive : tensor of floats

    Returns
    -------
    bias : tensor or None
        Zero where entries are closed; None if it is zero everywhere.
    mask : tensor of bool or None
        True where open; None if all are.

    Examples
    --------
    >>> bias, mask = bias_and_mask(torch.tensor([0.0, 1.5, float("-inf")]))
    >>> bias.tolist(), mask.tolist()
    ([0.0, 1.5, 0.0], [True, True, False])
    >>> bias_and_mask(torch.zeros(3))
    (None, None)
    """
    seen = open_entries(additive)
    bias = torch.where(seen, additive, torch.zeros_like(additive))
    return (bias if bool((bias != 0).any()) else None), (None if bool(seen.all()) else seen)
