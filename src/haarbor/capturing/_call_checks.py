"""Whether what is about to be recorded is what the layer computes."""

from __future__ import annotations

import torch

from haarbor.capturing._attention_call import AttentionCall

__all__ = ["gives_output", "gives_weights"]

# Rounding of a softmax of scores, and what half precision makes of it.
_TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-3}
_HALF = 5e-2


def gives_weights(call: AttentionCall, weights: torch.Tensor) -> bool:
    """Whether the softmax of a call's scores is what the layer returned as its attention.

    Parameters
    ----------
    call : AttentionCall
    weights : tensor
        Shape (group, head, query, key).

    Returns
    -------
    bool
    """
    if tuple(weights.shape) != call.shape:
        return False
    tolerance = _TOLERANCE.get(weights.dtype, _HALF)
    for where, rows in call.blocks():
        found = call.probabilities(call.logits(where, rows), where, rows)
        # Padded queries see no key, and what comes out of that is not attention.
        seen = call.valid(rows).any(dim=2)[:, None, :, None]
        difference = torch.where(seen, found - weights[:, where, rows].float(), 0.0)
        # Not "greater": a difference that is no number is not small.
        if not bool((difference.abs() <= tolerance).all()):
            return False
    return True


def gives_output(call: AttentionCall, value: torch.Tensor, output: torch.Tensor) -> bool:
    """Whether the softmax of a call's scores times the values is what the layer returned.

    Parameters
    ----------
    call : AttentionCall
    value : tensor
        Shape (group, key-value head, key, width).
    output : tensor
        Shape (group, head, query, width).

    Returns
    -------
    bool
    """
    if value.dim() != 4 or call.n_heads % value.shape[1] or output.shape[:3] != call.shape[:3]:
        return False
    size = float(value.float().abs().max().clamp(min=1.0))
    tolerance = _TOLERANCE.get(output.dtype, _HALF) * size
    shared = call.n_heads // value.shape[1]
    for where, rows in call.blocks():
        weights = call.probabilities(call.logits(where, rows), where, rows)
        seen = call.valid(rows).any(dim=2)[:, None, :, None]
        heads = torch.arange(where.start, where.stop, device=value.device) // shared
        found = torch.matmul(weights, value[:, heads].float())
        difference = torch.where(seen, found - output[:, where, rows].float(), 0.0)
        if not bool((difference.abs() <= tolerance).all()):
            return False
    return True
