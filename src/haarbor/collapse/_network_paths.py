"""The tokens that leave a real network as a sum over paths through its heads and skips."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from haarbor.array_types import FloatArray, frozen
from haarbor.collapse._composite_norm import composite_norm
from haarbor.collapse._linearised_network import LinearisedNetwork, linearised_network
from haarbor.collapse._network_blocks import network_blocks
from haarbor.collapse._network_threads import network_threads
from haarbor.collapse._path_decomposition import PathDecomposition, mean_and_error, paths_of_length
from haarbor.collapse._path_result import NetworkPaths
from haarbor.collapse._rank_collapse import without_scores
from haarbor.collapse._token_residual import token_residual
from haarbor.engines import usable_cores
from haarbor.errors import CollapseError, DataError
from haarbor.on_progress import OnProgress
from haarbor.options import require_flag, require_function, require_seed, require_whole_number
from haarbor.pruning import model_batches, network_heads

__all__ = ["network_paths"]

_SLACK = 1e-3


def network_paths(
    model: torch.nn.Module,
    sample: Any,
    *,
    mlps: bool = True,
    n_most: int = 40,
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> NetworkPaths:
    r"""Take the output of a real network apart into paths through its heads and skips, at one sample.

    Attention is held as it is at this sample, and so are the scales of all norms. Then every head is a
    linear map, and the tokens after the last layer are the sum over all paths, each of which takes in every
    layer one head or the skip. What an MLP adds, and what biases add, begins paths of its own.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode: as for :func:`haarbor.rank_collapse`.
    sample : mapping, tensor or Sample
        One text or image.
    mlps : bool, default True
        Whether the MLPs run; without them it is the attention part alone.
    n_most : int, default 40
        Paths of one length that are looked at one by one, as for :func:`haarbor.collapse.path_decomposition`.
    seed : int, default 0
    on_progress : function of (step, done, total), optional

    Returns
    -------
    NetworkPaths

    Raises
    ------
    CollapseError
        If the layers are built in a way that is not known, or the parts do not sum to the output.

    See Also
    --------
    haarbor.collapse.path_decomposition : Paths of a stack.
    haarbor.plots.path_figure : Draws paths.
    """
    from threadpoolctl import threadpool_limits

    require_flag("mlps", mlps)
    require_function("on_progress", on_progress)
    n_most = require_whole_number("n_most", n_most, 2)
    rng = np.random.default_rng(require_seed(seed))
    batch = next(model_batches([sample])[0].rows())
    if batch.valid is not None and not bool(batch.valid.all()):
        raise DataError("a sample must have no padding here; found some. Pass one text as it is.")
    network = without_scores(model)
    threads = usable_cores() // 2
    with network_threads(threads):
        heads, blocks = network_heads(network, batch), network_blocks(network, batch)
    if len({layer.n_heads for layer in heads.layers}) > 1:
        raise CollapseError(
            f"all layers must have the same number of heads; those of {type(model).__name__} have "
            f"{sorted({layer.n_heads for layer in heads.layers})}. Choose another model."
        )
    with network_threads(threads):
        found = linearised_network(network, batch, heads, blocks, mlps=mlps)
    sums, counts = _sums(found)
    whole = np.linalg.norm(found.final)
    total = (sums["tokens"] + sums["MLPs"] + sums["biases"]).sum(axis=0)
    error = float(np.linalg.norm(total - found.final) / whole)
    if not error < _SLACK:
        raise CollapseError(
            f"the paths must sum to what the network gives; they miss {error:.1%} of it. Choose another "
            "model."
        )
    # Small products, of which threads would wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        figures, n_taken = _one_by_one(found, counts, n_most, rng, on_progress)
    tokens = PathDecomposition(
        n_paths=frozen(counts),
        output=frozen(sums["tokens"]),
        share=frozen(np.linalg.norm(sums["tokens"], axis=(1, 2)) / whole),
        norm=frozen(figures[0].copy()),
        norm_error=frozen(figures[1].copy()),
        residual=frozen(figures[2].copy()),
        residual_error=frozen(figures[3].copy()),
        n_taken=frozen(n_taken),
    )
    return NetworkPaths(
        tokens=tokens,
        mlps=frozen(sums["MLPs"]),
        biases=frozen(sums["biases"]),
        error=error,
        with_mlps=bool(mlps),
    )


def _sums(found: LinearisedNetwork) -> tuple[dict[str, FloatArray], FloatArray]:
    """Sums of the paths of each length by their beginning, and the number of those from the tokens."""
    n_layers = len(found.layers)
    shape = (n_layers + 1, *found.tokens.shape)
    sums: dict[str, FloatArray] = {name: np.zeros(shape) for name in ("tokens", "MLPs", "biases")}
    sums["tokens"][0] = found.tokens
    counts: FloatArray = np.zeros(n_layers + 1)
    counts[0] = 1
    for depth, layer in enumerate(found.layers):
        for parts in sums.values():
            # No path is longer than the layers passed.
            changed = layer.heads(parts[: depth + 1])
            parts[: depth + 1] = layer.skip(parts[: depth + 1])
            parts[1 : depth + 2] += changed
        past, through = layer.bias_sources()
        sums["biases"][0] += past
        sums["biases"][1] += through
        sums["MLPs"][0] += layer.mlp_source()
        counts[1:] += found.n_heads * counts[:-1].copy()
    return sums, counts


def _one_by_one(
    found: LinearisedNetwork,
    counts: FloatArray,
    n_most: int,
    rng: np.random.Generator,
    on_progress: OnProgress | None,
) -> tuple[FloatArray, Any]:
    """Mean norm and residual of single paths with their errors, and how many were taken."""
    n_layers = len(found.layers)
    figures: FloatArray = np.full((4, n_layers + 1), np.nan)
    n_taken = np.zeros(n_layers + 1, dtype=np.int64)
    for length in range(n_layers + 1):
        if on_progress is not None:
            on_progress("paths", length, n_layers + 1)
        paths = paths_of_length(length, n_layers, found.n_heads, float(counts[length]), n_most, rng)
        parts = []
        for path in paths:
            x = found.tokens
            for layer, head in zip(found.layers, path, strict=True):
                x = layer.skip(x) if head < 0 else layer.head(head, x)
            parts.append(x)
        n_taken[length] = len(parts)
        figures[:2, length] = mean_and_error([composite_norm(part) for part in parts], counts[length])
        there = [token_residual(part).relative for part in parts if part.any()]
        if there:
            figures[2:, length] = mean_and_error(there, counts[length])
    if on_progress is not None:
        on_progress("paths", n_layers + 1, n_layers + 1)
    return figures, n_taken
