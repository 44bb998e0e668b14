"""Outputs of a network, and how far they change."""

from __future__ import annotations

from typing import Any

import torch

from haarbor.array_types import FloatArray
from haarbor.pruning._metrics import logits_of
from haarbor.pruning._model_batches import ModelBatch

__all__ = ["counted_outputs", "mean_output_changes", "output_of", "relative_entropies"]

_AT_ONCE = 2**18
"""Numbers of an answer that are compared at once: so many fit into a processor's cache."""
_NEVER = -80.0
"""Logarithm of a probability that is as good as none: its inverse is near the largest number of float32."""
_AT_ONCE_ON_DEVICE = 2**25
"""On a GPU, where every step costs as long as some millions of numbers."""


def output_of(output: Any) -> tuple[torch.Tensor, bool]:
    """Scores or vectors that a model answers with, and whether they are vectors."""
    hidden = getattr(output, "last_hidden_state", None)
    if isinstance(hidden, torch.Tensor) and getattr(output, "logits", None) is None:
        return hidden, True
    scores = logits_of(output)
    # A single score per sample is no distribution: it is compared as a vector is.
    return scores, scores.shape[-1] == 1


def counted_outputs(row: ModelBatch, answer: torch.Tensor) -> torch.Tensor:
    """Which answers count: those the batch says, or all but those to padding; shape (1, ...)."""
    for chosen in (row.counted, row.valid):
        if chosen is not None and chosen.shape == answer.shape[:-1]:
            return chosen.to(answer.device)
    return torch.ones(answer.shape[:-1], dtype=torch.bool, device=answer.device)


def mean_output_changes(
    answer: torch.Tensor, answers: torch.Tensor, counted: torch.Tensor, *, vectors: bool
) -> FloatArray:
    """Mean change from one sample's answer to each of several, shape (n,)."""
    size = answer.shape[-1]
    whole, others = answer.reshape(-1, size), answers.reshape(len(answers), -1, size)
    chosen = counted.reshape(-1)
    if not bool(chosen.all()):
        whole, others = whole[chosen], others[:, chosen]
    distances = _square_distances if vectors else _relative_entropies
    totals = torch.zeros(len(answers), dtype=torch.float64)
    at_once = _AT_ONCE if answers.device.type == "cpu" else _AT_ONCE_ON_DEVICE
    step = max(1, at_once // size)
    for begin in range(0, whole.shape[0], step):
        part = slice(begin, begin + step)
        totals += distances(whole[part], others[:, part]).sum(dim=1).cpu()
    found: FloatArray = (totals / whole.shape[0]).numpy()
    return found


def _square_distances(whole: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Of vectors (answer, channel) to others (n, answer, channel), relative to their squares."""
    vectors = whole.double()
    sizes = vectors.square().sum(dim=-1).clamp_min(torch.finfo(torch.float64).tiny)
    return (others.double() - vectors).square().sum(dim=-1) / sizes


def _relative_entropies(whole: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """From distributions by their scores (answer, class) to others (n, answer, class)."""
    logs = torch.log_softmax(whole.float(), dim=-1)
    return torch.stack([_between(logs, other) for other in others])


def relative_entropies(whole: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """From distributions by their scores (answer, class) to others of the same shape, one per answer."""
    return _between(torch.log_softmax(whole.float(), dim=-1), other)


def _between(logs: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """From distributions by their logarithms to others by their scores."""
    others = torch.log_softmax(other.float(), dim=-1)
    apart = logs - others
    # The terms of sum p log(p / q) cancel to second order; with sum q - p = 0 added they do not.
    terms = logs.exp() * (torch.expm1(-apart) + apart)
    never = logs < _NEVER
    if never.any():
        # There the exponential of q / p may overflow, and only q is left of the term.
        terms = torch.where(never, others.exp(), terms)
    return terms.sum(dim=-1).double()
