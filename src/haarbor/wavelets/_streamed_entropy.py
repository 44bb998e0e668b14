"""Haar entropies of a tensor that lies in files and is read in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from haarbor.array_types import FloatArray, frozen
from haarbor.binary_scale import scaled
from haarbor.transport import MappedTensor, ScratchTensor
from haarbor.trees import PartitionTree
from haarbor.wavelets._entropy import (
    HeadEntropy,
    NetworkEntropy,
    entropy_of_network,
    head_entropy,
    power_sums_of,
)
from haarbor.wavelets._haar_system import haar_system
from haarbor.wavelets._haar_transform import haar_transform
from haarbor.wavelets._product_order import largest_products

__all__ = ["streamed_head_entropy", "streamed_network_entropy"]

_AXES = ("query", "head", "key")
# A part of the tensor, its coefficients along the axes, and one more while they are made.
_COPIES = 4


def streamed_head_entropy(
    by_head: ScratchTensor | MappedTensor,
    trees: Mapping[str, PartitionTree],
    k: int,
    *,
    exponent: int,
    piece_bytes: int,
) -> HeadEntropy:
    """What :func:`haarbor.head_entropy` says, of a tensor (head, query, key) in a file.

    Parameters
    ----------
    by_head : ScratchTensor or MappedTensor
    trees : mapping of axis name to PartitionTree
    k : int
    exponent : int
        The tensor was divided by two to this power.
    piece_bytes : int
        How much memory to take.

    See Also
    --------
    haarbor.head_entropy : Entropy of every head.
    haarbor.wavelets.streamed_network_entropy : The same of the whole tensor.
    """
    n_heads, *matrix = by_head.shape
    step = _part(piece_bytes, by_head.nbytes // n_heads, n_heads)
    found = []
    for first in range(0, n_heads, step):
        heads: FloatArray = np.empty((min(step, n_heads - first), *matrix), by_head.dtype)
        by_head.read((first, 0, 0), heads)
        found.append(head_entropy(scaled(heads, -exponent).transpose(1, 2, 0), trees, k))
    of_heads = [field.name for field in fields(HeadEntropy) if field.name not in ("k", "n_functions", "p")]
    return HeadEntropy(
        **{name: frozen(np.concatenate([getattr(one, name) for one in found])) for name in of_heads},
        k=found[0].k,
        n_functions=found[0].n_functions,
        p=found[0].p,
    )


def streamed_network_entropy(
    by_head: ScratchTensor | MappedTensor,
    trees: Mapping[str, PartitionTree],
    k: int,
    *,
    exponent: int,
    piece_bytes: int,
) -> NetworkEntropy:
    """What :func:`haarbor.network_entropy` says, of a tensor (head, query, key) in a file.

    Parameters are those of :func:`streamed_head_entropy`. The expansion along heads and keys is written to
    a second file, and that along queries made from there; both are read once.

    See Also
    --------
    haarbor.network_entropy : Entropy of the whole tensor.
    haarbor.wavelets.streamed_head_entropy : The same of every head.
    """
    n_heads, n_queries, n_keys = by_head.shape
    half = ScratchTensor((n_queries, n_heads, n_keys), by_head.dtype)
    step = _part(piece_bytes, by_head.nbytes // n_queries, n_queries)
    for first in range(0, n_queries, step):
        count = min(step, n_queries - first)
        queries: FloatArray = np.empty((count, n_heads, n_keys), by_head.dtype)
        for head in range(n_heads):
            rows: FloatArray = np.empty((count, n_keys), by_head.dtype)
            by_head.read((head, first, 0), rows)
            queries[:, head] = rows
        half.write((first, 0, 0), haar_transform(queries, {a: trees[a] for a in ("head", "key")}, _AXES))
    products = largest_products([haar_system(trees[axis]) for axis in ("query", "key", "head")], k)
    listed = np.concatenate([products.above, products.tied])
    values = np.zeros((listed.shape[0], 1))
    rest, energy, constant = np.zeros(1), np.zeros(1), np.zeros(1)
    step = _part(piece_bytes, by_head.nbytes // n_heads, n_heads)
    for first in range(0, n_heads, step):
        heads: FloatArray = np.empty((n_queries, min(step, n_heads - first), n_keys), by_head.dtype)
        for query in range(n_queries):
            half.read((query, first, 0), heads[query])
        coefficients = haar_transform(heads, {"query": trees["query"]}, _AXES).astype(np.float64)
        here = (first <= listed[:, 2]) & (listed[:, 2] < first + heads.shape[1])
        queries_of, keys_of, heads_of = listed[here].T
        values[here, 0] = coefficients[queries_of, heads_of - first, keys_of]
        if first == 0:
            # It may be so large that adding it would lose the digits of the rest.
            constant[0] = coefficients[0, 0, 0]
            coefficients[0, 0, 0] = 0
        rest += np.abs(coefficients).sum()
        energy += np.square(coefficients).sum()
    sums = power_sums_of(
        products, values, constant, (rest, energy), exponents=np.array([exponent]), p=1.0,
        n_functions=n_queries * n_keys * n_heads,
    )  # fmt: skip
    return entropy_of_network(sums)


def _part(piece_bytes: int, item_bytes: int, n_items: int) -> int:
    """How many items are read together."""
    return max(1, min(n_items, piece_bytes // (_COPIES * item_bytes)))
