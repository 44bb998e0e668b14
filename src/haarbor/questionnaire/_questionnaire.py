"""The loop of the questionnaire: trees of one axis after another, each refined by the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from haarbor.array_types import FloatArray, frozen
from haarbor.engines import L1Engine
from haarbor.questionnaire._held_tensor import axis_roles
from haarbor.questionnaire._organization import Organization
from haarbor.questionnaire._reused_emd import ReusedEmd
from haarbor.questionnaire._settings import QuestionnaireSettings
from haarbor.spectral import affinity_of_distances, require_symmetric
from haarbor.transport import FolderMeans
from haarbor.trees import PartitionTree, build_tree

__all__ = ["Questionnaire"]


class _Source(Protocol):
    """The tensor of a questionnaire, wherever it lies."""

    shape: tuple[int, ...]
    exponent: int

    def initial_affinity(self, axis: str) -> FloatArray:
        """First affinity between the slices of an axis."""

    def means(self) -> FolderMeans:
        """Folder means of the tensor over two to the power of `exponent`, the last axis last."""


class Questionnaire:
    """The loop of a questionnaire, and what it keeps from step to step."""

    def __init__(
        self,
        source: _Source,
        settings: QuestionnaireSettings,
        engine: L1Engine,
        start: Mapping[str, PartitionTree],
    ) -> None:
        self.settings = settings
        names = settings.axes
        self.first, self.last = axis_roles(names)
        self.shape = source.shape
        self.start = {axis: start[axis] for axis in self.first if axis in start}
        self.initial = {
            axis: frozen(source.initial_affinity(axis)) for axis in self.first if axis not in self.start
        }
        self.exponent = source.exponent
        self.emd = ReusedEmd(
            source.means(),
            {axis: (settings.alpha[axis], settings.beta[axis]) for axis in names},
            engine,
        )
        self.history: dict[str, list[PartitionTree]] = {axis: [] for axis in names}
        self.affinities: dict[str, Any] = {}
        self.seen_from: dict[str, dict[str, PartitionTree]] = {}

    def _on_host(self, affinity: FloatArray) -> FloatArray:
        """An affinity as :meth:`_affinity` gives it, on the host."""
        return affinity

    def _tree(self, affinity: FloatArray) -> PartitionTree:
        settings = self.settings
        return build_tree(
            affinity, tree=settings.tree, tree_constant=settings.tree_constant, cut=settings.cut
        )

    def _refine(self, axis: str, trees: dict[str, PartitionTree]) -> None:
        """Append the tree of `axis` from distances along `trees`; its last tree if these are unchanged."""
        if self.seen_from.get(axis) == trees:
            self.history[axis].append(self.history[axis][-1])
            return
        affinity = self._affinity(axis, trees)
        self.affinities[axis] = affinity
        self.seen_from[axis] = trees
        self.history[axis].append(self._tree(affinity))

    def _affinity(self, axis: str, trees: Mapping[str, PartitionTree]) -> Any:
        """Affinity between the slices of an axis, wherever it lies."""
        distances = self.emd.distances(axis, trees)
        gap = require_symmetric(distances, "distances", float(distances.max()))
        return affinity_of_distances(distances, self.exponent, is_symmetric=gap == 0)

    def answer(self) -> Organization:
        """Trees after all iterations."""
        for axis in self.first:
            if axis in self.start:
                self.history[axis].append(self.start[axis])
                continue
            self.history[axis].append(self._tree(self.initial[axis]))
            self.affinities[axis] = self.initial[axis]
        states = [self._state()]
        period = done = 0
        while done < self.settings.n_iterations and period != 1:
            done += 1
            from_start = self.settings.refine == "published" and len(self.first) > 1
            newest = 0 if from_start else -1
            self._refine(self.last, {axis: self.history[axis][newest] for axis in self.first})
            for axis in self.first:
                self._refine(axis, {a: trees[-1] for a, trees in self.history.items() if a != axis})
            state = self._state()
            if state in states and not period:
                period = len(states) - states.index(state)
            states.append(state)
        return Organization(
            shape=self.shape,
            trees={axis: trees[-1] for axis, trees in self.history.items()},
            history={axis: tuple(trees) for axis, trees in self.history.items()},
            affinities={axis: frozen(self._on_host(found)) for axis, found in self.affinities.items()},
            initial_affinities=self.initial,
            period=period,
            n_iterations=done,
            settings=self.settings,
        )

    def _state(self) -> tuple[PartitionTree, ...]:
        # The tree of the last axis is built from the others, so the others determine all that follows.
        return tuple(self.history[axis][-1] for axis in self.first)
