"""Answers of a network, how far others are from them and in which direction."""

from __future__ import annotations

from typing import Any

import torch

from haarbor.array_types import FloatArray
from haarbor.pruning.metrics import logits_of
from haarbor.pruning.model_batches import ModelBatch

__all__ = ["answer_changes", "answer_of", "counted_answers"]

_AT_ONCE = 2**18
"""Numbers of an answer that are compared at once."""


def answer_of(output: Any) -> tuple[torch.Tensor, bool]:
    """Scores or vectors that a model answers with, and whether they are vectors."""
    hidden = getattr(output, "last_hidden_state", None)
    if isinstance(hidden, torch.Tensor) and getattr(output, "logits", None) is None:
        return hidden, True
    scores = logits_of(output)
    # A single score a sample is no distribution: it is compared as a vector is.
    return scores, scores.shape[-1] == 1


def counted_answers(row: ModelBatch, answer: torch.Tensor) -> torch.Tensor:
    """Which answers count: those the batch says, or all but those to padding; shape (1, ...)."""
    for chosen in (row.counted, row.valid):
        if chosen is not None and chosen.shape == answer.shape[:-1]:
            return chosen.to(answer.device)
    return torch.ones(answer.shape[:-1], dtype=torch.bool, device=answer.device)


def answer_changes(
    answer: torch.Tensor, answers: torch.Tensor, counted: torch.Tensor, *, vectors: bool, width: int
) -> tuple[FloatArray, torch.Tensor]:
    r"""How far each of several answers to one sample is from the first, and in which direction.

    Parameters
    ----------
    answer : torch.Tensor, shape (..., n_classes)
    answers : torch.Tensor, shape (n, ..., n_classes)
    counted : torch.Tensor of bool, shape (...)
    vectors : bool
        Whether answers are vectors, and not scores of classes.
    width : int
        Of the directions; with fewer than classes they are sketches.

    Returns
    -------
    changes : ndarray, shape (n,)
        Mean over the answers that count.
    directions : torch.Tensor, shape (n, n_counted, width or less)
        Half of their squares are the changes to second order, and their inner products say what two
        changes add to each other when they are made together.

    Notes
    -----
    The direction of a change from a distribution :math:`p` to :math:`q` is
    :math:`\sqrt p \, (\log q - \log p)`. A sketch adds up coordinates that lie `width` apart, each with a
    random sign: inner products are kept on average, and many answers make the average.
    """
    size = answer.shape[-1]
    chosen = counted.reshape(-1)
    whole, others = answer.reshape(-1, size)[chosen], answers.reshape(len(answers), -1, size)[:, chosen]
    signs = _signs(size, width).to(answer.device)
    compared = _square_distances if vectors else _relative_entropies
    totals = torch.zeros(len(answers), dtype=torch.float64)
    directions = []
    # A few answers at a time, so that they stay in the processor's cache.
    step = max(1, _AT_ONCE // size)
    for begin in range(0, whole.shape[0], step):
        part = slice(begin, begin + step)
        distances, sketches = compared(whole[part], others[:, part], signs, width)
        totals += distances.sum(dim=1).cpu()
        directions.append(sketches)
    changes: FloatArray = (totals / whole.shape[0]).numpy()
    return changes, torch.cat(directions, dim=1)


def _square_distances(
    whole: torch.Tensor, others: torch.Tensor, signs: torch.Tensor, width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of vectors (answer, channel) to others (n, answer, channel), relative to their squares."""
    vectors = whole.double()
    sizes = vectors.square().sum(dim=-1).clamp_min(torch.finfo(torch.float64).tiny)
    apart = (others.double() - vectors) / sizes.sqrt()[:, None]
    return apart.square().sum(dim=-1), _folded(2**0.5 * apart.float() * signs, width)


def _relative_entropies(
    whole: torch.Tensor, others: torch.Tensor, signs: torch.Tensor, width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """From distributions by their scores (answer, class) to others (n, answer, class)."""
    logs = torch.log_softmax(whole.float(), dim=-1)
    shares = logs.exp()
    roots = -shares.sqrt() * signs
    found, directions = [], []
    for other in others:
        apart = logs - torch.log_softmax(other.float(), dim=-1)
        directions.append(_folded(roots * apart, width))
        # The terms of sum p log(p / q) cancel to second order; with sum q - p = 0 added they do not.
        found.append((shares * (torch.expm1(-apart) + apart)).sum(dim=-1).double())
    return torch.stack(found), torch.stack(directions)


def _signs(size: int, width: int) -> torch.Tensor:
    """Of the coordinates of a sketch, always the same."""
    if size <= width:
        return torch.ones(size)
    return torch.randint(0, 2, (size,), generator=torch.Generator().manual_seed(0)) * 2.0 - 1.0


def _folded(values: torch.Tensor, width: int) -> torch.Tensor:
    """Sums of the coordinates that lie `width` apart."""
    size = values.shape[-1]
    if size <= width:
        return values
    padded = torch.nn.functional.pad(values, (0, -size % width))
    return padded.reshape(*values.shape[:-1], -1, width).sum(dim=-2)
