"""What each head does, measured on the attention of one batch."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen, real_array
from haarbor.diagnostics._attention_shares import SHARES, share_weights
from haarbor.diagnostics._matrix_spectra import SPECTRAL, matrix_spectra
from haarbor.diagnostics._token_places import TokenPlaces, token_places
from haarbor.engines import parallel_map
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.named_axes import boolean_array
from haarbor.options import found_text, is_row, require_flag
from haarbor.stored_result import stored_result

__all__ = ["ATTENTION_FIGURES", "SINK", "HeadDiagnostics", "attention_diagnostics", "block_diagnostics"]

SINK = 0.3
"""A token is a sink if the queries give it more than this on average (Gu et al. 2025)."""
ATTENTION_FIGURES = (
    "attention_entropy",
    "attention_entropy_normalised",
    "confidence",
    *SHARES,
    "sink",
    "strongest_token",
    *SPECTRAL,
    "nearest_similarity",
)
_SUM_SLACK = 0.01
_SIMILARITY_BYTES = 2**27
_BYTES_AT_ONCE = 2**25
_MOST_ROWS = 512
_HEADS_AT_ONCE = 8


@stored_result("HeadDiagnostics")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadDiagnostics:
    """Figures of all heads on one batch.

    See Also
    --------
    haarbor.attention_diagnostics : Figures from attention alone.
    """

    figures: Mapping[str, FloatArray]
    """By name, those of `ATTENTION_FIGURES`: arrays of shape (n_heads,), NaN where a figure has no meaning,
    such as the next token under a causal mask."""
    strongest: IntArray
    """Place of the key that gets most attention on average, among the keys that at least half of the queries
    see, shape (n_heads,)."""
    nearest: IntArray
    """Head whose matrix is most alike, shape (n_heads,); -1 if there is no other."""
    first_label: str
    """Text of the first token; "" if it is not known."""
    last_label: str
    is_causal: bool
    n_queries: int
    n_keys: int
    """Without padding."""
    n_compared: int
    """How many queries, evenly spaced, the similarity of heads was taken on: all of them unless the batch is
    very large."""
    n_ranked: int
    """How many queries, evenly spaced, singular values were taken of: all of them up to 512."""

    @property
    def n_heads(self) -> int:
        """Heads of all layers."""
        return int(self.nearest.size)

    def __repr__(self) -> str:
        return f"HeadDiagnostics({self.n_heads} heads, {self.n_queries} x {self.n_keys})"


def attention_diagnostics(
    tensor: Any,
    mask: Any = None,
    *,
    same_sequence: bool = True,
    labels: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> HeadDiagnostics:
    r"""Diagnostics of heads from their attention.

    Parameters
    ----------
    tensor : array_like, shape (n_queries, n_keys, n_heads)
        Attention probabilities.
    mask : array_like of bool, shape (n_queries, n_keys), optional
        Valid entries; all of them if not given. Queries that see nothing and keys that nobody sees are
        padding, and are left out.
    same_sequence : bool, default True
        False where queries and keys are tokens of different texts: then there is no previous token.
    labels : (sequence of str, sequence of str), optional
        Texts of the queries and of the keys.

    Returns
    -------
    HeadDiagnostics

    Raises
    ------
    ShapeError
        If the shapes do not fit, or the mask is not boolean.
    DataError
        If the entries are no shares: negative, not finite, or more than 1 in all for a query.

    See Also
    --------
    haarbor.run_diagnostics : Figures of every batch of a run.
    haarbor.head_diagnostics : Figures that need the network.
    haarbor.diagnostics.head_types : Types from figures.

    Notes
    -----
    With :math:`A_{ij}` the share that query :math:`i` gives to key :math:`j`, the figures are means over
    queries, among others of the entropy :math:`-\sum_j A_{ij} \ln A_{ij}`, of the confidence
    :math:`\max_j A_{ij}` and of the distance :math:`\sum_j A_{ij} |i - j|`. Shares of single tokens are means
    of a diagonal or of a column.

    Examples
    --------
    A head that looks at the token before, and one that looks at the first:

    >>> X = np.zeros((4, 4, 2))
    >>> X[0, 0], X[[1, 2, 3], [0, 1, 2], 0], X[1:, 0, 1] = 1, 1, 1
    >>> found = attention_diagnostics(X, np.tri(4, dtype=bool))
    >>> np.round(found.figures["previous_token"], 3), np.round(found.figures["first_token"], 3)
    (array([1.   , 0.333]), array([0.5, 1. ]))
    """
    array: FloatArray = real_array(tensor, "the attention")
    require_flag("same_sequence", same_sequence)
    if array.ndim != 3 or not array.size:
        raise ShapeError(
            f"attention must have the axes query, key, head; found shape {array.shape}. Pass such an array."
        )
    n_queries, n_keys, n_heads = array.shape
    valid: BoolArray = np.ones(array.shape[:2], bool) if mask is None else boolean_array(mask)
    if valid.shape != (n_queries, n_keys):
        raise ShapeError(
            f"the mask must have shape {(n_queries, n_keys)}; found {valid.shape}. Pass one entry per query "
            "and key."
        )
    if not is_row(labels) or len(labels) != 2 or not all(map(is_row, labels)):
        raise SettingError(
            f"labels must be two lists of texts, of the queries and of the keys; found {found_text(labels)}. "
            "Pass both, or leave them out."
        )
    for name, texts, size in (("queries", labels[0], n_queries), ("keys", labels[1], n_keys)):
        if len(texts) not in (0, size):
            raise ShapeError(
                f"the labels of the {name} must be {size} texts; found {len(texts)}. Pass all, or none."
            )
    blocks = (
        np.ascontiguousarray(array[:, :, start : start + _HEADS_AT_ONCE].transpose(2, 0, 1))
        for start in range(0, n_heads, _HEADS_AT_ONCE)
    )
    return block_diagnostics(
        blocks, math.ceil(n_heads / _HEADS_AT_ONCE), n_heads, valid, same_sequence, labels
    )


def block_diagnostics(
    blocks: Iterable[FloatArray],
    n_blocks: int,
    n_heads: int,
    mask: BoolArray,
    same_sequence: bool,
    labels: tuple[Sequence[str], Sequence[str]],
) -> HeadDiagnostics:
    """The same of heads that come some at a time, in arrays of shape (n_some, n_queries, n_keys)."""
    queries, keys = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not queries.size:
        raise DataError("a batch needs at least one valid entry; every entry is masked. Look at its mask.")
    is_whole = (queries.size, keys.size) == mask.shape
    places = token_places(mask, same_sequence=same_sequence)
    if places is not None:
        places = TokenPlaces(places.queries[queries], places.keys[keys], places.is_causal)
    seen = mask[np.ix_(queries, keys)]
    texts = [
        [one[int(item)] for item in kept] if one else []
        for one, kept in zip(labels, (queries, keys), strict=True)
    ]
    weights = share_weights(seen, places, *texts)
    step = max(1, math.ceil(n_heads * seen.size * 4 / _SIMILARITY_BYTES))
    units: FloatArray = np.zeros((n_heads, seen[::step].size), dtype=np.float32)
    stride = math.ceil(queries.size / _MOST_ROWS)
    taking = threading.Lock()
    source = _numbered(blocks)

    def work(_: int) -> tuple[int, dict[str, FloatArray], IntArray]:
        with taking:
            first, block = next(source)
        if not is_whole:
            block = block[:, queries][:, :, keys]
        block = _shares(block, first)
        rows = block[:, ::step].reshape(block.shape[0], -1)
        # A head without any attention has no direction, and is like no other.
        size = np.linalg.norm(rows, axis=1, keepdims=True)
        units[first : first + block.shape[0]] = rows / np.where(size > 0, size, 1.0)
        n_some = max(1, _BYTES_AT_ONCE // (4 * seen.size))
        pieces = [
            _measured(block[start : start + n_some], seen, weights, stride)
            for start in range(0, block.shape[0], n_some)
        ]
        figures = {name: np.concatenate([piece[0][name] for piece in pieces]) for name in pieces[0][0]}
        return first, figures, np.concatenate([piece[1] for piece in pieces])

    from threadpoolctl import threadpool_limits

    # Every block has a thread of its own; more of them inside would only wait for one another.
    with threadpool_limits(limits=1, user_api="blas"):
        each = sorted(parallel_map(work, range(n_blocks)), key=lambda found: found[0])
        similarity = units @ units.T
    figures = {name: np.full(n_heads, np.nan) for name in ATTENTION_FIGURES}
    for first, found, _ in each:
        for name, values in found.items():
            figures[name][first : first + values.size] = values
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.full(n_heads, -1) if n_heads < 2 else similarity.argmax(axis=1)
    if n_heads > 1:
        figures["nearest_similarity"] = np.minimum(similarity.max(axis=1).astype(np.float64), 1.0)
    return HeadDiagnostics(
        figures={name: frozen(values) for name, values in figures.items()},
        strongest=frozen(keys[np.concatenate([strongest for _, _, strongest in each])]),
        nearest=frozen(nearest),
        first_label=texts[1][0] if texts[1] else "",
        last_label=texts[1][-1] if texts[1] else "",
        is_causal=places is not None and places.is_causal,
        n_queries=int(queries.size),
        n_keys=int(keys.size),
        n_compared=int(seen[::step].shape[0]),
        n_ranked=int(seen[::stride].shape[0]),
    )


def _numbered(blocks: Iterable[FloatArray]) -> Iterator[tuple[int, FloatArray]]:
    """Each block with the number of its first head."""
    first = 0
    for block in blocks:
        yield first, block
        first += block.shape[0]


def _shares(block: FloatArray, first: int) -> FloatArray:
    """The block as float32, once it is known to hold shares."""
    block = np.ascontiguousarray(block, dtype=np.float32)
    sums = block.sum(axis=2)
    least, most = float(block.min()), float(sums.max())
    # NaN fails every comparison, so that it is found here too.
    if not (least >= 0 and most <= 1 + _SUM_SLACK):
        found = f"an entry of {least:.3g}" if not least >= 0 else f"a query that gives {most:.3g} in all"
        raise DataError(
            "head diagnostics need attention probabilities, not negative and at most 1 in all for a query; "
            f"found {found} among the heads from number {first} on. Import raw scores as logits."
        )
    return block


def _measured(
    block: FloatArray, seen: BoolArray, weights: Mapping[str, FloatArray], stride: int
) -> tuple[dict[str, FloatArray], IntArray]:
    """Figures of some heads, and the key of each that gets most."""
    n_some = block.shape[0]
    logs = np.log(np.where(block > 0, block, np.float32(1)))
    entropies = -np.einsum("hqk,hqk->hq", block, logs).astype(np.float64)
    n_seen = seen.sum(axis=1)
    figures = {"attention_entropy": entropies.mean(axis=1)}
    several = n_seen > 1
    if several.any():
        relative = entropies[:, several] / np.log(n_seen[several])
        figures["attention_entropy_normalised"] = relative.mean(axis=1)
    figures["confidence"] = block.max(axis=2).astype(np.float64).mean(axis=1)
    columns = np.stack([weight.reshape(-1) for weight in weights.values()], axis=1)
    sums = (block.reshape(n_some, -1) @ columns).astype(np.float64)
    figures |= {name: sums[:, number] for number, name in enumerate(weights)}
    figures["sink"] = (figures["first_token"] > SINK).astype(np.float64)
    readers = seen.sum(axis=0)
    received = block.sum(axis=1, dtype=np.float64) / np.maximum(readers, 1)
    received[:, 2 * readers < seen.shape[0]] = 0.0
    strongest: IntArray = received.argmax(axis=1)
    figures["strongest_token"] = received[np.arange(n_some), strongest]
    return {**figures, **matrix_spectra(block[:, ::stride])}, strongest
