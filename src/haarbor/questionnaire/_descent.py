"""Trees on all axes of a tensor that lower one objective, one axis after another."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from haarbor.array_types import FloatArray, frozen
from haarbor.binary_scale import excess_exponent, scaled
from haarbor.engines import CpuEngine, L1Engine, usable_cores
from haarbor.questionnaire._organization import Organization
from haarbor.questionnaire._settings import QuestionnaireSettings
from haarbor.spectral import affinity_of_distances
from haarbor.trees import (
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
        for n_items in tensor.shape:
            require_haar_tree_fits(n_items, tensor.size // n_items, tensor.dtype.itemsize)
        self.exponent = excess_exponent(tensor)
        self.tensor = np.ascontiguousarray(scaled(tensor, self.exponent))
        self.trees = {
            axis: start.get(axis) or halved_tree(n) for axis, n in zip(axes, tensor.shape, strict=True)
        }
        self.history = {axis: [tree] for axis, tree in self.trees.items()}
        self.affinities: dict[str, FloatArray] = {}
        self.seen_from: dict[str, dict[str, PartitionTree]] = {}
        # Known once the tensor is expanded for the first time. Until then the objective counts it as 1.
        self.start_norm = self.norm = 0.0
        # One stretch of memory for the folders of every axis in turn: fresh memory costs time.
        self.memory: FloatArray = np.empty(2 * self.tensor.size, self.tensor.dtype)

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
        by_place = {axes.index(name): tree for name, tree in others.items()}
        write_haar_rows(self.tensor, place, by_place, means[:n_items])
        if is_first:
            # The tensor is expanded along all other axes already.
            self.start_norm = self.norm = haar_l1(
                means[:n_items], {axis: self.trees[axis]}, (axis, "coefficient of the others")
            )
        distances = row_distances(means[:n_items], self.engine)
        self.affinities[axis] = frozen(affinity_of_distances(distances, self.exponent))
        if n_items == 1:
            return
        folders = linked_folders(means, distances)
        rotate(folders, depth_price(self.settings.restraint, self.start_norm, n_items), self.threads)
        found = folders.tree()
        norm = folders.norm
        if self._objective(norm, {**self.trees, axis: found}) < self._objective(self.norm, self.trees):
            self.trees[axis] = found
            self.norm = norm
