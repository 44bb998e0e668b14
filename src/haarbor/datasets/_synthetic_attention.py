"""Attention of a synthetic network whose heads are of known kinds, so that results can be checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen
from haarbor.memory import require_memory
from haarbor.options import require_choice, require_flag, require_seed, require_whole_number

__all__ = ["SyntheticNetwork", "synthetic_attention", "synthetic_network"]

_MOST = 10**9
_KINDS = ("previous", "local", "topic", "induction", "sink", "broad")
# Share of each kind in the first and in the last layer, as in trained language models: positional
# heads come early, heads that look at content, or put their weight on the first token, come late.
_EARLY = (0.30, 0.35, 0.10, 0.00, 0.05, 0.20)
_LATE = (0.00, 0.05, 0.35, 0.20, 0.35, 0.05)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SyntheticNetwork:
    """Attention of a synthetic network on one batch of tokens."""

    tensor: FloatArray
    """Shape (n_tokens, n_tokens, n_heads): query, key, head, heads in layer-major order."""
    mask: BoolArray
    """True where a query may look at a key, shape (n_tokens, n_tokens)."""
    head_kinds: tuple[str, ...]
    """Kind of each head: previous, local, topic, induction, sink, broad."""
    head_layers: IntArray
    """Layer of each head, shape (n_heads,)."""
    topics: IntArray
    """Topic of each token, shape (n_tokens,)."""
    content: Literal["probabilities", "logits"]

    def __repr__(self) -> str:
        n_layers = int(self.head_layers.max()) + 1
        return (
            f"SyntheticNetwork({self.tensor.shape[0]} tokens, {n_layers} layers, "
            f"{self.tensor.shape[2]} heads, {self.content})"
        )


def synthetic_network(
    n_tokens: int = 128,
    n_layers: int = 6,
    heads_per_layer: int = 8,
    *,
    n_topics: int = 5,
    causal: bool = True,
    content: Literal["probabilities", "logits"] = "probabilities",
    batch: int = 0,
    seed: int = 0,
) -> SyntheticNetwork:
    """Attention of a synthetic network with heads of known kinds.

    Tokens carry topics that come in runs. A head scores keys by position (``previous``,
    ``local``), by topic (``topic``, ``induction``: the token after an earlier one of the same
    topic), by being first (``sink``), or hardly at all (``broad``), plus noise of its own.
    The kinds, strengths and widths of the heads depend on `seed` alone, the tokens on `seed` and
    `batch`: batches with the same seed are different texts read by the same network.

    Parameters
    ----------
    n_tokens, n_layers, heads_per_layer : int
    n_topics : int, default 5
    causal : bool, default True
        Whether a query sees only keys up to itself.
    content : {"probabilities", "logits"}, default "probabilities"
        Logits are given for all pairs, before any mask.
    batch, seed : int

    Returns
    -------
    SyntheticNetwork

    See Also
    --------
    haarbor.datasets.synthetic_attention : The tensor of a made-up network.

    Examples
    --------
    >>> network = synthetic_network(n_tokens=16, n_layers=2, heads_per_layer=4)
    >>> network.tensor.shape
    (16, 16, 8)
    >>> bool((abs(network.tensor.sum(axis=1) - 1) < 1e-12).all())
    True
    """
    n_tokens = require_whole_number("n_tokens", n_tokens, 1, _MOST)
    n_layers = require_whole_number("n_layers", n_layers, 1, _MOST)
    heads_per_layer = require_whole_number("heads_per_layer", heads_per_layer, 1, _MOST)
    n_topics = require_whole_number("n_topics", n_topics, 1, _MOST)
    require_flag("causal", causal)
    require_choice("content", content, ("probabilities", "logits"))
    seed, batch = require_seed(seed), require_seed(batch, "batch")
    n_heads = n_layers * heads_per_layer
    require_memory(
        8 * n_tokens**2 * (n_heads + 4), f"attention of {n_heads} heads on {n_tokens} tokens", "Ask for less."
    )
    heads = np.random.default_rng([seed, 0])
    text = np.random.default_rng([seed, 1, batch])
    topics = _topic_runs(text, n_tokens, n_topics)
    position = np.arange(n_tokens)
    causal_mask: BoolArray = position[None, :] <= position[:, None]
    mask = causal_mask if causal else np.ones((n_tokens, n_tokens), dtype=bool)
    depth = np.repeat(np.linspace(0, 1, n_layers), heads_per_layer)
    kinds = [str(heads.choice(_KINDS, p=(1 - d) * np.array(_EARLY) + d * np.array(_LATE))) for d in depth]
    tensor = np.empty((n_tokens, n_tokens, len(kinds)))
    for head, kind in enumerate(kinds):
        score = _scores(kind, heads.uniform(size=3), position, topics)
        score += 0.3 * text.normal(size=score.shape)
        tensor[:, :, head] = score if content == "logits" else _softmax(score, mask)
    return SyntheticNetwork(
        tensor=frozen(tensor),
        mask=frozen(mask),
        head_kinds=tuple(kinds),
        head_layers=frozen(np.repeat(np.arange(n_layers), heads_per_layer)),
        topics=frozen(topics),
        content=content,
    )


def synthetic_attention(
    n_tokens: int = 128,
    n_layers: int = 6,
    heads_per_layer: int = 8,
    *,
    causal: bool = True,
    content: Literal["probabilities", "logits"] = "probabilities",
    batch: int = 0,
    seed: int = 0,
) -> FloatArray:
    """Tensor of :func:`synthetic_network` alone, shape (n_tokens, n_tokens, n_heads).

    See Also
    --------
    haarbor.datasets.synthetic_network : A made-up network.

    Examples
    --------
    >>> synthetic_attention(n_tokens=8, n_layers=1, heads_per_layer=2).shape
    (8, 8, 2)
    """
    return synthetic_network(
        n_tokens, n_layers, heads_per_layer, causal=causal, content=content, batch=batch, seed=seed
    ).tensor


def _topic_runs(rng: np.random.Generator, n_tokens: int, n_topics: int) -> IntArray:
    lengths = rng.geometric(0.15, size=n_tokens)
    topics: IntArray = np.repeat(rng.integers(0, n_topics, size=n_tokens), lengths)[:n_tokens]
    return topics


def _scores(kind: str, knobs: FloatArray, position: IntArray, topics: IntArray) -> FloatArray:
    """Scores of a head; `knobs` are three numbers between 0 and 1 that vary the heads of one kind."""
    lag: FloatArray = (position[:, None] - position[None, :]).astype(np.float64)
    same: FloatArray = (topics[:, None] == topics[None, :]).astype(np.float64)
    strength = 2.0 + 3.0 * float(knobs[0])
    width = float(knobs[1])
    if kind == "previous":
        return strength * np.exp(-np.abs(lag - 1 - int(3 * width)) / 0.7)
    if kind == "local":
        return -strength * np.abs(lag) / (4.0 + 28.0 * width)
    if kind == "topic":
        return strength * same - width * np.abs(lag) / 48.0
    if kind == "induction":
        after = np.roll(same, 1, axis=1)
        after[:, 0] = 0.0
        return strength * after
    if kind == "sink":
        first: FloatArray = (position == 0).astype(np.float64)
        return (strength + 2.0) * first[None, :] + width * same
    faint: FloatArray = 0.5 * float(knobs[0]) * same - 0.2 * width * np.abs(lag) / position.size
    return faint


def _softmax(score: FloatArray, mask: BoolArray) -> FloatArray:
    score = np.where(mask, score, -np.inf)
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    probabilities: FloatArray = weight / weight.sum(axis=1, keepdims=True)
    return probabilities
