"""Spectra of the matrices by which heads compare and move tokens, and how heads build on one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.diagnostics._matrix_spectra import spectral_figures
from haarbor.engines import parallel_map
from haarbor.on_progress import OnProgress

__all__ = ["HeadCircuit", "circuit_figures", "composition_scores"]


@dataclass(frozen=True, slots=True, eq=False)
class HeadCircuit:
    """Weights of one head; None for those that could not be told from the network."""

    query: FloatArray | None
    """Shape (head_width, width): a token x has the query ``query @ x``."""
    key: FloatArray | None
    value: FloatArray | None
    output: FloatArray
    """Shape (width, value_width): what the head mixes is written as ``output @ mixed``."""


def _triangle(matrix: FloatArray) -> FloatArray:
    """Matrix of few rows with the same inner products of columns."""
    found: FloatArray = np.asarray(np.linalg.qr(matrix, mode="r"))
    return found


def product_spectrum(left: FloatArray, right: FloatArray) -> FloatArray:
    """Singular values of ``left @ right``, shapes (m, k) and (k, n), from their small factors."""
    small = _triangle(left) @ _triangle(right.T).T
    values: FloatArray = np.linalg.svd(small, compute_uv=False)
    return values


def _positive_share(small: FloatArray) -> float:
    """Sum of the real parts of the eigenvalues over the sum of their sizes: 1 where all are positive."""
    values = np.linalg.eigvals(small)
    size = float(np.abs(values).sum())
    return float(values.real.sum()) / size if size > 0 else float("nan")


def circuit_figures(circuits: Sequence[HeadCircuit]) -> dict[str, FloatArray]:
    r"""Figures of the QK matrix :math:`W_Q^\top W_K` and the OV matrix :math:`W_O W_V` of every head.

    Effective ranks, and the positive share :math:`\sum \Re \lambda / \sum |\lambda|` of the eigenvalues:
    of OV it tells copying from its opposite, of QK looking for alike tokens from looking for others.

    Parameters
    ----------
    circuits : sequence of HeadCircuit

    Returns
    -------
    dict of str to ndarray, shape (n_heads,)
        NaN where the weights are not known.

    See Also
    --------
    haarbor.diagnostics.composition_scores : Which heads read which.
    haarbor.diagnostics.spectral_figures : Figures of singular values.
    haarbor.head_diagnostics : Figures that need the network.

    Examples
    --------
    A head that copies one of two channels:

    >>> one = np.array([[1.0, 0.0]])
    >>> found = circuit_figures([HeadCircuit(None, None, one, one.T)])
    >>> found["ov_positive"].tolist(), found["ov_effective_rank"].tolist(), found["qk_positive"].tolist()
    ([1.0], [1.0], [nan])
    """
    n_heads = len(circuits)
    names = ("qk_effective_rank", "qk_positive", "ov_effective_rank", "ov_positive")
    found = {name: np.full(n_heads, np.nan) for name in names}
    for head, circuit in enumerate(circuits):
        pairs = {}
        if circuit.query is not None and circuit.key is not None:
            pairs["qk"] = (circuit.query.T, circuit.key)
        if circuit.value is not None:
            pairs["ov"] = (circuit.output, circuit.value)
        for name, (left, right) in pairs.items():
            spectrum = spectral_figures(product_spectrum(left, right)[None])
            found[f"{name}_effective_rank"][head] = spectrum["effective_rank"][0]
            found[f"{name}_positive"][head] = _positive_share(right @ left)
    return found


def composition_scores(
    circuits: Sequence[HeadCircuit], layers: IntArray, *, on_progress: OnProgress | None = None
) -> dict[str, FloatArray]:
    r"""How strongly each head reads, by its queries, keys or values, what each earlier head writes.

    With :math:`M = W_Q^\top W_K` and :math:`N = W_O W_V`, of head :math:`b` above head :math:`a`, they are
    :math:`\|M_b^\top N_a\|`, :math:`\|M_b N_a\|` and :math:`\|N_b N_a\|` in the Frobenius norm, each over the
    product of the norms of its factors (Elhage et al. 2021).

    Parameters
    ----------
    circuits : sequence of HeadCircuit
    layers : ndarray of int, shape (n_heads,)
    on_progress : function of (step, done, total), optional

    Returns
    -------
    dict of str to ndarray of float32, shape (n_heads, n_heads)
        "query", "key" and "value": row the later head, column the earlier one; NaN elsewhere.

    See Also
    --------
    haarbor.diagnostics.circuit_figures : Figures of the weights of heads.
    haarbor.head_diagnostics : Figures that need the network.
    """
    n_heads = len(circuits)
    found = {
        kind: np.full((n_heads, n_heads), np.nan, dtype=np.float32) for kind in ("query", "key", "value")
    }
    # A product of four factors has the norm of a small matrix: the outer ones are replaced by triangles.
    written = {}
    for head, circuit in enumerate(circuits):
        if circuit.value is not None:
            triangle = _triangle(circuit.value.T).T
            columns = circuit.output @ triangle
            norm = float(np.linalg.norm(columns))
            if norm > 0:
                written[head] = (columns / norm).astype(np.float32)
    # In the order of the layers, so that what is written before a layer is the beginning of it.
    order = sorted(written, key=lambda head: int(layers[head]))
    if not order:
        return found
    stacked = np.concatenate([written[head] for head in order], axis=1)
    ends = np.cumsum([written[head].shape[1] for head in order])
    depths = np.array([int(layers[head]) for head in order])

    def work(later: int) -> dict[str, FloatArray]:
        n_earlier = int(np.searchsorted(depths, layers[later]))
        if not n_earlier:
            return {}
        scores = {}
        for kind, reading in _readings(circuits[later]).items():
            products = reading.astype(np.float32) @ stacked[:, : ends[n_earlier - 1]]
            squares = np.einsum("ij,ij->j", products, products)
            starts = np.concatenate([[0], ends[: n_earlier - 1]])
            scores[kind] = np.sqrt(np.add.reduceat(squares, starts))
        return scores

    each = parallel_map(work, range(n_heads), on_progress, step="composition of heads")
    for later, scores in enumerate(each):
        for kind, values in scores.items():
            found[kind][later, order[: values.size]] = values
    return found


def _readings(circuit: HeadCircuit) -> dict[str, FloatArray]:
    """What a head reads of tokens by its queries, keys and values: small matrices of norm 1."""
    factors = {"value": (circuit.output, circuit.value)}
    if circuit.query is not None and circuit.key is not None:
        factors["query"] = (circuit.key.T, circuit.query)
        factors["key"] = (circuit.query.T, circuit.key)
    readings: dict[str, FloatArray] = {}
    for kind, (outer, inner) in factors.items():
        if inner is None:
            continue
        reading = _triangle(outer) @ inner
        norm = float(np.linalg.norm(reading))
        if norm > 0:
            readings[kind] = reading / norm
    return readings
