"""The output of attention with skip connections as a sum over paths through its heads."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.collapse._attention_stack import AttentionStack
from haarbor.collapse._composite_norm import composite_norm
from haarbor.collapse._token_residual import token_residual
from haarbor.options import require_kind, require_seed, require_whole_number
from haarbor.stored_result import stored_result

__all__ = ["PathDecomposition", "mean_and_error", "path_decomposition", "paths_of_length"]


@stored_result("PathDecomposition")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PathDecomposition:
    """Paths of a stack by their length, the number of layers in which they pass a head.

    Arrays have one entry per length; NaN where there is no path of the length, or all were zero.
    """

    n_paths: FloatArray
    """Number of paths, which may be beyond whole numbers."""
    output: FloatArray
    """Sum of the paths of each length, exactly, shape (n_lengths, n_tokens, width); their sum is the
    output of the stack."""
    share: FloatArray
    """Frobenius norm of that sum over the norm of the output; parts cancel, so these need not sum to 1."""
    norm: FloatArray
    """Mean composite norm of one path."""
    norm_error: FloatArray
    """Standard error of `norm`; 0 where all paths of the length were taken."""
    residual: FloatArray
    """Mean relative residual of one path against 1 x^T."""
    residual_error: FloatArray
    """Standard error of `residual`."""
    n_taken: IntArray
    """Paths of each length that `norm` and `residual` are the means of."""

    def __repr__(self) -> str:
        return f"PathDecomposition({self.n_paths.sum():.3g} paths, {int(self.n_taken.sum())} of them taken)"


def path_decomposition(
    stack: AttentionStack, tokens: object, *, n_most: int = 2000, seed: int = 0
) -> PathDecomposition:
    r"""Paths through the heads and skip connections of a stack of attention, by length.

    Parameters
    ----------
    stack : AttentionStack
    tokens : array_like of float, shape (n_tokens, width)
    n_most : int, default 2000
        Paths of one length that are looked at one by one: all where there are no more, else so many drawn
        at random, with standard errors.
    seed : int, default 0

    Returns
    -------
    PathDecomposition

    See Also
    --------
    haarbor.collapse.network_paths : Paths of a network.
    haarbor.collapse.AttentionStack : The stack.
    haarbor.plots.path_figure : Draws paths.

    Notes
    -----
    A path takes in every layer one head or the skip, and contributes :math:`P X W`, with :math:`P` the
    product of the attention matrices on it, as they are at these tokens, and :math:`W` that of its
    value-output maps. There are :math:`(H + 1)^L` paths, but their sums by length follow from layer to
    layer, :math:`Y_k \leftarrow Y_k + \sum_h P_h Y_{k-1} W_h`, so these are exact for any size.
    """
    require_kind("stack", stack, AttentionStack, "Pass an AttentionStack.")
    n_most = require_whole_number("n_most", n_most, 2)
    rng = np.random.default_rng(require_seed(seed))
    states, matrices = stack.states(tokens)
    n_layers, n_heads = stack.n_layers, stack.n_heads
    x = states[0]
    sums: FloatArray = np.zeros((n_layers + 1, *x.shape))
    sums[0] = x
    counts: FloatArray = np.zeros(n_layers + 1)
    counts[0] = 1
    for layer in range(n_layers):
        changed = np.einsum("hij,kjd,hde->kie", matrices[layer], sums, stack.value_output[layer])
        kept = sums if stack.skips else np.zeros_like(sums)
        sums = kept.copy()
        sums[1:] += changed[:-1]
        passed = n_heads * counts[:-1]
        counts = counts.copy() if stack.skips else np.zeros_like(counts)
        counts[1:] += passed
    figures: FloatArray = np.full((4, n_layers + 1), np.nan)
    n_taken = np.zeros(n_layers + 1, dtype=np.int64)
    for length in np.flatnonzero(counts):
        paths = paths_of_length(int(length), n_layers, n_heads, float(counts[length]), n_most, rng)
        parts = [_part(stack, matrices, x, path) for path in paths]
        there = [part for part in parts if part.any()]
        n_taken[length] = len(parts)
        figures[:2, length] = mean_and_error([composite_norm(part) for part in parts], counts[length])
        if there:
            figures[2:, length] = mean_and_error(
                [token_residual(part).relative for part in there], counts[length]
            )
    whole = np.linalg.norm(states[-1])
    share = np.linalg.norm(sums, axis=(1, 2)) / whole if whole > 0 else np.full(n_layers + 1, np.nan)
    return PathDecomposition(
        n_paths=frozen(counts),
        output=frozen(sums),
        share=frozen(share),
        norm=frozen(figures[0].copy()),
        norm_error=frozen(figures[1].copy()),
        residual=frozen(figures[2].copy()),
        residual_error=frozen(figures[3].copy()),
        n_taken=frozen(n_taken),
    )


def paths_of_length(
    length: int, n_layers: int, n_heads: int, count: float, n_most: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Paths of a length: a head per layer, or -1 for the skip; all of them, or some drawn at random."""
    if count <= n_most and (n_heads + 1.0) ** n_layers <= 1e6:
        return [
            path
            for path in product(range(-1, n_heads), repeat=n_layers)
            if sum(head >= 0 for head in path) == length
        ]
    drawn = []
    for _ in range(n_most):
        path = np.full(n_layers, -1)
        path[rng.permutation(n_layers)[:length]] = rng.integers(n_heads, size=length)
        drawn.append(tuple(int(head) for head in path))
    return drawn


def _part(
    stack: AttentionStack, matrices: list[FloatArray], x: FloatArray, path: tuple[int, ...]
) -> FloatArray:
    for layer, head in enumerate(path):
        if head >= 0:
            x = matrices[layer][head] @ x @ stack.value_output[layer, head]
    return x


def mean_and_error(values: list[float], count: float) -> tuple[float, float]:
    """Mean, and its standard error; 0 where every path was taken."""
    array = np.asarray(values)
    error = 0.0 if array.size >= count else float(array.std(ddof=1) / np.sqrt(array.size))
    return float(array.mean()), error
