"""Numbers per head computed from the organised attention, averaged over the calibration samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.questionnaire import organize
from haarbor.trees import PartitionTree, halved_tree, random_tree_like
from haarbor.wavelets import haar_transform, head_entropy

__all__ = ["AttentionStatistics", "AttentionSums"]

_AXES = ("query", "key", "head")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AttentionStatistics:
    """One number per head from its attention, averaged over calibration samples; shape (n_heads,) each."""

    entropy: FloatArray
    """H_400: l1 norm of the 400 coarsest Haar coefficients on the trees found."""
    normalised_entropy: FloatArray
    """H_400 divided by the norm of the head's attention matrix."""
    mean_removed_entropy: FloatArray
    all_scales: FloatArray
    """l1 norm of all Haar coefficients."""
    fine_scales: FloatArray
    """l1 norm of those outside the 400 coarsest."""
    random_tree_entropy: FloatArray
    """H_400 on random trees of the same shape: a control for what the trees contribute."""
    no_tree_entropy: FloatArray
    """H_400 on trees that halve the tokens in text order: a control for what organising contributes."""
    attention_entropy: FloatArray
    """Shannon entropy of a query's weights, in nats, mean over queries."""
    output_haar_norm: FloatArray
    """Sum over the Haar functions of the query tree of the norm of the head's coefficient vector."""
    distances: FloatArray
    """Earth mover's distances between heads, in units of each sample's median, shape (n_heads, n_heads)."""
    n_samples: int

    def __repr__(self) -> str:
        return f"AttentionStatistics({self.entropy.size} heads, {self.n_samples} samples)"


class AttentionSums:
    """Organises one sample after another and adds up the numbers per head.

    Parameters
    ----------
    heads : NetworkHeads
    seed : int
        Of the random trees.
    """

    def __init__(self, heads: NetworkHeads, *, seed: int = 0) -> None:
        self._heads = heads
        self._rng = np.random.default_rng(seed)
        self._sums: tuple[dict[str, FloatArray], dict[str, FloatArray]] = ({}, {})
        self._n_samples = [0, 0]

    def add(
        self,
        tensor: FloatArray,
        outputs: Sequence[FloatArray],
        mask: BoolArray,
        grams: Sequence[FloatArray],
        *,
        half: int = 0,
    ) -> None:
        """Add a sample.

        Parameters
        ----------
        tensor : ndarray, shape (n_queries, n_keys, n_heads)
            Probabilities.
        outputs : sequence of ndarray, one (n_queries, width) a layer
            What enters the output projections.
        mask : ndarray of bool, shape (n_queries, n_keys)
        grams : sequence of ndarray, one (width, width) a layer
            Inner products of the columns of the output projections.
        half : {0, 1}
            Which of two halves of the samples it is of, for :meth:`statistics`.
        """
        org = organize(tensor, _AXES, mask=mask, content="probabilities")
        trees = {axis: org.trees[axis] for axis in ("query", "key")}
        random = {axis: random_tree_like(tree, self._rng) for axis, tree in trees.items()}
        plain = {axis: halved_tree(tree.n_items) for axis, tree in trees.items()}
        own = head_entropy(tensor, trees)
        found = {
            "entropy": own.raw,
            "normalised_entropy": own.normalised,
            "mean_removed_entropy": own.mean_removed,
            "all_scales": own.all_scales,
            "fine_scales": own.all_scales - own.raw,
            "random_tree_entropy": head_entropy(tensor, random).raw,
            "no_tree_entropy": head_entropy(tensor, plain).raw,
            "attention_entropy": _shannon(tensor),
            "output_haar_norm": self._output_norms(outputs, trees["query"], grams),
            # The affinity is exp(-distance / median).
            "distances": -np.log(np.maximum(org.affinities["head"], np.finfo(np.float64).tiny)),
        }
        for name, values in found.items():
            self._sums[half][name] = self._sums[half].get(name, 0.0) + np.asarray(values, dtype=np.float64)
        self._n_samples[half] += 1

    def _output_norms(
        self, outputs: Sequence[FloatArray], tree: PartitionTree, grams: Sequence[FloatArray]
    ) -> FloatArray:
        norms = []
        for layer, x, gram in zip(self._heads.layers, outputs, grams, strict=True):
            coefficients = haar_transform(x, {"query": tree}, ("query", "channel"))
            for head in range(layer.n_heads):
                part = layer.channels(head)
                own = gram[part, part].astype(coefficients.dtype)
                squares = ((coefficients[:, part] @ own) * coefficients[:, part]).sum(axis=1)
                norms.append(float(np.sqrt(np.maximum(squares, 0.0)).sum()))
        return np.array(norms)

    def statistics(self, half: int | None = None) -> AttentionStatistics:
        """Means over the samples added, or over those of one half; of all where that half has none."""
        chosen = [number for number in (0, 1) if half in (None, number) and self._n_samples[number]]
        chosen = chosen or [number for number in (0, 1) if self._n_samples[number]]
        n_samples = sum(self._n_samples[number] for number in chosen)
        means = {
            name: frozen(sum((self._sums[number][name] for number in chosen), np.zeros(())) / n_samples)
            for name in self._sums[chosen[0]]
        }
        return AttentionStatistics(**means, n_samples=n_samples)


def _shannon(tensor: FloatArray) -> FloatArray:
    logs = np.log(np.maximum(tensor, np.finfo(np.float32).tiny))
    entropies: FloatArray = -(tensor * logs).sum(axis=1).mean(axis=0)
    return entropies
