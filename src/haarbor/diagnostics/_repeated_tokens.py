"""Random tokens that repeat after a period, and what heads make of them."""

from __future__ import annotations

import numpy as np
import torch

from haarbor.array_types import FloatArray, IntArray
from haarbor.pruning import ModelBatch

__all__ = ["repeated_batches", "repeated_figures"]


def repeated_batches(
    like: ModelBatch, vocabulary: IntArray, period: int, n_samples: int, seed: int
) -> tuple[ModelBatch, ...]:
    """Samples of random tokens, each row the same tokens twice.

    Parameters
    ----------
    like : ModelBatch
        A batch of tokens; the samples have its arguments, without padding.
    vocabulary : ndarray of int
        Ids to draw from, without repetition where there are enough.
    period : int
    n_samples : int
    seed : int

    Returns
    -------
    tuple of ModelBatch
        Of one row each.
    """
    generator = np.random.default_rng(seed)
    tokens = like.tokens
    batches = []
    for _ in range(n_samples):
        once = generator.choice(vocabulary, period, replace=vocabulary.size < period)
        row = torch.from_numpy(np.tile(once.astype(np.int64), 2))[None]
        inputs = {}
        for name, value in like.inputs.items():
            if value is tokens:
                inputs[name] = row
            elif tokens is not None and value.shape == tokens.shape and name.endswith("attention_mask"):
                inputs[name] = torch.ones_like(row)
        batches.append(ModelBatch(inputs=inputs, labels=None))
    return tuple(batches)


def repeated_figures(attention: FloatArray, period: int, *, is_causal: bool) -> dict[str, FloatArray]:
    r"""Previous-token, duplicate-token and induction scores of heads on tokens of period :math:`T`.

    Means of the diagonals :math:`-1`, :math:`-T` and :math:`1 - T` of the attention, over the queries of the
    second half. In an encoder the first half has its duplicates behind it, on the diagonals :math:`T` and
    :math:`T + 1`, and counts too.

    Parameters
    ----------
    attention : ndarray, shape (n_heads, 2 period, 2 period)
    period : int
    is_causal : bool

    Returns
    -------
    dict of str to ndarray, shape (n_heads,)

    Examples
    --------
    A head that looks behind the last occurrence, where there is one:

    >>> A = np.zeros((1, 6, 6))
    >>> A[0, [0, 1, 2], 0], A[0, [3, 4, 5], [1, 2, 3]] = 1, 1
    >>> {name: values.tolist() for name, values in repeated_figures(A, 3, is_causal=True).items()}
    {'previous_repeated': [0.2], 'duplicate_token': [0.0], 'induction': [1.0]}
    """

    def diagonal(offset: int) -> FloatArray:
        return np.diagonal(attention, offset, axis1=1, axis2=2)

    duplicates, followers = [diagonal(-period)], [diagonal(1 - period)[:, 1:]]
    if not is_causal:
        duplicates.append(diagonal(period))
        followers.append(diagonal(period + 1))
    return {
        "previous_repeated": diagonal(-1).mean(axis=1),
        "duplicate_token": np.concatenate(duplicates, axis=1).mean(axis=1),
        "induction": np.concatenate(followers, axis=1).mean(axis=1),
    }
