"""Random small attention tensors like those of networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from haarbor.array_types import BoolArray, FloatArray, frozen

__all__ = ["AttentionSample", "attention_samples"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttentionSample:
    """An attention tensor with the mask it was made under."""

    tensor: FloatArray
    """Shape (n_queries, n_keys, n_heads)."""
    mask: BoolArray
    """True where a query may look at a key, shape (n_queries, n_keys)."""
    content: Literal["probabilities", "logits"]
    causal: bool

    def __repr__(self) -> str:
        sizes = " x ".join(map(str, self.tensor.shape))
        kind = "causal" if self.causal else "bidirectional"
        return f"AttentionSample({sizes}, {kind} {self.content}, {self.tensor.dtype})"


@st.composite
def attention_samples(
    draw: st.DrawFn,
    *,
    min_tokens: int = 1,
    max_tokens: int = 9,
    min_heads: int = 1,
    max_heads: int = 6,
    square: bool | None = None,
    causal: bool | None = None,
    content: Literal["probabilities", "logits"] | None = None,
    dtype: npt.DTypeLike | None = None,
) -> AttentionSample:
    """Strategy for attention tensors.

    Scores are drawn from a normal distribution with a random seed, so no two values are equal. Under a
    causal mask the last query sees all keys, as with cached keys, and every query sees the first one.

    Parameters
    ----------
    min_tokens, max_tokens, min_heads, max_heads : int
        Sizes, both ends included.
    square : bool, optional
        Whether there are as many keys as queries; either if not given.
    causal : bool, optional
        Whether later keys are hidden; either if not given.
    content : {"probabilities", "logits"}, optional
        Either if not given. Logits are given for all pairs, masked or not.
    dtype : dtype, optional
        float32 or float64; either if not given.

    Returns
    -------
    strategy of AttentionSample

    See Also
    --------
    haarbor.testing.partition_trees : Trees.
    haarbor.testing.affinities : Affinities.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(attention_samples(content="probabilities", dtype="float64"))
    ... def rows_sum_to_one(sample):
    ...     assert abs(sample.tensor.sum(axis=1) - 1).max() < 1e-12
    >>> rows_sum_to_one()
    """
    n_queries = draw(st.integers(min_tokens, max_tokens))
    is_square = draw(st.booleans()) if square is None else square
    n_keys = n_queries if is_square else draw(st.integers(min_tokens, max_tokens))
    n_heads = draw(st.integers(min_heads, max_heads))
    is_causal = draw(st.booleans()) if causal is None else causal
    kind = draw(st.sampled_from(("probabilities", "logits"))) if content is None else content
    number: np.dtype[Any] = np.dtype(
        draw(st.sampled_from(("float64", "float32"))) if dtype is None else dtype
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = np.ones((n_queries, n_keys), dtype=bool)
    if is_causal:
        newest = np.maximum(np.arange(n_queries) + n_keys - n_queries, 0)
        mask = np.arange(n_keys)[None, :] <= newest[:, None]
    scores = rng.normal(size=(n_queries, n_keys, n_heads))
    if kind == "probabilities":
        weights = np.where(mask[:, :, None], np.exp(scores), 0.0)
        scores = weights / weights.sum(axis=1, keepdims=True)
    return AttentionSample(
        tensor=frozen(scores.astype(number)),
        mask=frozen(mask),
        content="probabilities" if kind == "probabilities" else "logits",
        causal=is_causal,
    )
