"""What the comparison of two runs found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.compare._head_tree_agreement import HeadTreeAgreement
from haarbor.compare._matching_test import MatchingTest
from haarbor.head_labels import head_label
from haarbor.stored_result import stored_result

__all__ = ["RunComparison"]


@stored_result("RunComparison")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunComparison:
    """Two runs compared, made by :func:`haarbor.compare_runs`."""

    names: tuple[str, str]
    places: tuple[str, str]
    """Paths or URLs of the runs."""
    layers: tuple[int, int]
    heads_per_layer: tuple[int, int]
    same_weights: bool | None
    """Whether both runs are of the same weights; None where a run does not say."""
    tokens: str
    """"the same", "taken to be the same" (nothing tells) or "different"."""
    batches: tuple[int, ...]
    """Batches that were compared, where the tokens are the same."""
    method: str
    """How the heads were matched: "tree EMD", "Gromov-Wasserstein" or "place"."""
    distances: FloatArray | None
    """Tree EMD from every head of the first to every head of the second, mean over batches, on the same
    tokens; None where they differ."""
    pairs: IntArray
    """Matched heads, shape (n_pairs, 2), in the order of the first network."""
    test: MatchingTest | None
    """Whether matched heads are nearer than heads paired by chance; None where tokens differ, or where
    there are too few of them."""
    geometry: tuple[float, float, float] | None
    """Gromov-Wasserstein distance, its mean by chance, and p-value, where the tokens differ."""
    trees: HeadTreeAgreement
    """Of the head trees of both networks on matched heads."""
    trees_in_place: HeadTreeAgreement | None
    """Of the head trees with every head taken for the one at its place; None for networks of other sizes."""
    entropies: tuple[FloatArray, FloatArray]
    """Haar entropy of each head, normalised, mean over the batches."""
    entropy_correlation: float
    """Rank correlation of the entropies of matched heads."""
    network_entropies: tuple[FloatArray, FloatArray]
    """Normalised Haar entropy of each network on every batch."""
    coherence: tuple[float, float] | None
    """How well the trees that one network makes of the tokens suit the other, first by second's trees and
    second by first's: 1 as well as its own, 0 as random ones; None where tokens differ."""
    cka: FloatArray | None
    """Linear CKA of the attention of all pairs of layers, shape (n_layers, m_layers), on the same tokens."""
    cka_other_tokens: FloatArray | None
    """The same with the second network on the next batch: what position alone gives. None for one batch."""

    @property
    def matched(self) -> FloatArray | None:
        """Distance of each matched pair; None where tokens differ."""
        if self.distances is None:
            return None
        found: FloatArray = self.distances[self.pairs[:, 0], self.pairs[:, 1]]
        return found

    @property
    def distance(self) -> float:
        """Mean distance of matched heads; Gromov-Wasserstein where the tokens differ.

        Of one network on different tokens, the partition distance of its head trees.
        """
        if self.matched is not None:
            return float(self.matched.mean())
        return self.trees.distance if self.geometry is None else self.geometry[0]

    @property
    def chance(self) -> float:
        """Mean distance of heads paired by chance, of the kind that `distance` is."""
        if self.distances is not None:
            return float(self.distances.mean())
        return float("nan") if self.geometry is None else self.geometry[1]

    @property
    def relative_distance(self) -> float:
        """`distance` over `chance`: 0 the same, 1 as far as by chance. NaN where there is no chance."""
        return self.distance / self.chance if self.chance > 0 else (0.0 if self.distance == 0 else np.nan)

    @property
    def same_sizes(self) -> bool:
        """Whether both networks have as many layers and heads."""
        return self.layers[0] == self.layers[1] and self.heads_per_layer[0] == self.heads_per_layer[1]

    @property
    def n_in_place(self) -> int:
        """Number of heads that are matched with the head at their own place; 0 for other sizes."""
        return int((self.pairs[:, 0] == self.pairs[:, 1]).sum()) if self.same_sizes else 0

    @property
    def n_in_depth(self) -> int:
        """Number of matched heads in the same layer, or at the same share of the depth."""
        depth = [
            np.floor((self.pairs[:, side] // self.heads_per_layer[side]) / self.layers[side]
                     * min(self.layers))
            for side in (0, 1)
        ]  # fmt: skip
        return int((depth[0] == depth[1]).sum())

    def label(self, side: int, head: int) -> str:
        """Name of a head of the first (0) or second (1) network, as layer.head."""
        return head_label(*divmod(int(head), self.heads_per_layer[side]))

    def layer_distances(self) -> FloatArray | None:
        """Distance of every two layers over that by chance, shape (n_layers, m_layers).

        The heads of the two layers are matched among themselves. None where tokens differ.
        """
        from haarbor.compare._head_matching import head_matching

        if self.distances is None:
            return None
        blocks = self.distances.reshape(
            self.layers[0], self.heads_per_layer[0], self.layers[1], self.heads_per_layer[1]
        )
        found = np.empty((self.layers[0], self.layers[1]))
        for one in range(self.layers[0]):
            for two in range(self.layers[1]):
                block = blocks[one, :, two, :]
                pairs = head_matching(block)
                found[one, two] = block[pairs[:, 0], pairs[:, 1]].mean()
        return found / self.chance if self.chance > 0 else found

    def layer_entropies(self, side: int) -> FloatArray:
        """Mean entropy of the heads of each layer."""
        found: FloatArray = self.entropies[side].reshape(self.layers[side], -1).mean(axis=1)
        return found

    def __repr__(self) -> str:
        return (
            f"RunComparison({self.names[0]} and {self.names[1]}: distance {self.relative_distance:.2f} of "
            f"chance, {self.pairs.shape[0]} heads matched by {self.method})"
        )
