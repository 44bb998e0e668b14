"""Trees on all axes of a tensor that lower one objective, one axis after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from haarbor.array_types import FloatArray, frozen
from haarbor.binary_scale import excess_exponent, scaled
from haarbor.engines import CpuEngine, L1Engine, usable_cores
from haarbor.questionnaire._organization import Organization
from haarbor.questionnaire._settings import QuestionnaireSettings
from haarbor.spectral import affinity_of_distances
from haarbor.trees import (
    BinaryFolders,
    PartitionTree,
    depth_price,
    halved_tree,
    linked_folders,
    require_haar_tree_fits,
    rotate,
    row_distances,
)
from haarbor.wavelets import haar_l1, write_haar_rows

__all__ = ["Descent"]


class Descent:
    r"""Haar trees of every axis in turn, each accepted only if the objective falls.

    The objective is :math:`\|X\|/\|X\|_0 + r \sum_{axes} \delta`: the l1 norm of the Haar expansion of the
    tensor over that on the start trees, and the restraint :math:`r` times the relative depth of each tree.

    Parameters
    ----------
    tensor : ndarray of float32 or float64
        Finite, masked entries neutral.
    settings : QuestionnaireSettings
    engine : L1Engine
    start : mapping of axis name to PartitionTree
        Axes that are missing start with the tree of the items in their own order.
    """

    def __init__(
        self,
        tensor: FloatArray,
        settings: QuestionnaireSettings,
        engine: L1Engine,
        start: Mapping[str, PartitionTree],
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.threads = engine.threads if isinstance(engine, CpuEngine) else usable_cores()
        axes = settings.axes
        self._take(tensor)
        self.trees = {
            axis: start.get(axis) or halved_tree(n) for axis, n in zip(axes, tensor.shape, strict=True)
        }
        self.history = {axis: [tree] for axis, tree in self.trees.items()}
        self.affinities: dict[str, FloatArray] = {}
        self.seen_from: dict[str, dict[str, PartitionTree]] = {}
        # Known once the tensor is expanded for the first time. Until then the objective counts it as 1.
        self.start_norm = self.norm = 0.0

    def _take(self, tensor: Any) -> None:
        """Keep the tensor, of ordinary size, and take memory for the folders of one axis."""
        for n_items in tensor.shape:
            require_haar_tree_fits(n_items, tensor.size // n_items, tensor.dtype.itemsize)
        self.exponent = excess_exponent(tensor)
        self.tensor: Any = np.ascontiguousarray(scaled(tensor, self.exponent))
        # One stretch of memory for the folders of every axis in turn: fresh memory costs time.
        self.memory: Any = np.empty(2 * self.tensor.size, self.tensor.dtype)

    def answer(self) -> Organization:
        """Trees after as many passes over all axes as lower the objective by enough."""
        settings = self.settings
        order = self._order()
        done, settled = 0, False
        while done < settings.n_iterations and not settled:
            done += 1
            before = self._objective(self.norm, self.trees)
            for axis in order:
                self._improve(axis)
            for axis, trees in self.history.items():
                trees.append(self.trees[axis])
            fall = before - self._objective(self.norm, self.trees)
            settled = fall <= settings.tolerance * before
        return Organization(
            shape=self.tensor.shape,
            trees=dict(self.trees),
            history={axis: tuple(trees) for axis, trees in self.history.items()},
            affinities=self.affinities,
            initial_affinities={},
            period=int(settled),
            n_iterations=done,
            settings=settings,
        )

    def _order(self) -> tuple[str, ...]:
        """Axes as they are improved: those with the fewest items first, of equals the heads or the last axis.

        An item of a small axis has the most features, so its tree is the least likely to fit noise. A large
        axis fits the order trees of the others so well, noise included, that they may never be left.
        """
        axes = self.settings.axes
        last = "head" if "head" in axes else axes[-1]
        usual = (last, *(axis for axis in axes if axis != last))
        return tuple(sorted(usual, key=lambda axis: self.tensor.shape[axes.index(axis)]))

    def _objective(self, norm: float, trees: Mapping[str, PartitionTree]) -> float:
        depth = sum(tree.relative_depth for tree in trees.values())
        return (norm / self.start_norm if self.start_norm else 1.0) + self.settings.restraint * depth

    def _improve(self, axis: str) -> None:
        others = {name: tree for name, tree in self.trees.items() if name != axis}
        if self.seen_from.get(axis) == others:
            return
        is_first = not self.seen_from
        self.seen_from[axis] = others
        axes = self.settings.axes
        place = axes.index(axis)
        n_items = self.tensor.shape[place]
        means = self.memory[: (2 * n_items - 1) * (self.tensor.size // n_items)].reshape(2 * n_items - 1, -1)
        self._expand(place, {axes.index(name): tree for name, tree in others.items()}, means[:n_items])
        if is_first:
            # The tensor is expanded along all other axes already.
            self.start_norm = self.norm = self._norm(means[:n_items], self.trees[axis])
        distances = self._distances(means[:n_items])
        self.affinities[axis] = frozen(affinity_of_distances(distances, self.exponent))
        if n_items == 1:
            return
        folders = self._linked(means, distances)
        rotate(folders, depth_price(self.settings.restraint, self.start_norm, n_items), self.threads)
        found = folders.tree()
        norm = folders.norm
        if self._objective(norm, {**self.trees, axis: found}) < self._objective(self.norm, self.trees):
            self.trees[axis] = found
            self.norm = norm

    def _expand(self, place: int, trees: Mapping[int, PartitionTree], rows: Any) -> None:
        """Write the slices of one axis, expanded along the trees of the others, into `rows`."""
        write_haar_rows(self.tensor, place, trees, rows)

    def _norm(self, rows: Any, tree: PartitionTree) -> float:
        """l1 norm of the rows, expanded along their own tree too."""
        return haar_l1(rows, {"item": tree}, ("item", "coefficient of the others"))

    def _distances(self, rows: Any) -> FloatArray:
        """L1 distances between the rows."""
        return row_distances(rows, self.engine)

    def _linked(self, means: Any, distances: FloatArray) -> BinaryFolders:
        """Haar linkage of the first rows, which writes the others."""
        return linked_folders(means, distances)
