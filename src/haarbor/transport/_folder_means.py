"""Weighted folder means of a tensor along any of its axes, computed block by block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, IntArray
from haarbor.engines import FeatureBlock, L1Engine, checked_sums, ordered_results, usable_cores
from haarbor.errors import SettingError
from haarbor.memory import require_memory
from haarbor.transport._block_shape import OUTER_PER_BLOCK, SECTION_GRAIN
from haarbor.transport._folder_features import (
    OuterFolders,
    OuterPart,
    RaisedFolders,
    ground_weight,
    outer_folders,
    raised_folders,
)
from haarbor.transport._matrix_block import MatrixBlock
from haarbor.trees import LARGEST_LOG_WEIGHT, PartitionTree

__all__ = [
    "Exponents",
    "FolderMeans",
    "Layout",
    "MeansBlock",
    "require_distances_fit",
    "require_few_products",
    "require_moderate_weights",
    "require_sums_fit",
]

# Sums over raised outer folders are kept for the next axis if they take no more than this.
_KEPT_BYTES = 64 << 20
# Smaller tensors are turned by numpy sooner than a kernel for it is compiled.
_WORTH_COMPILING = 1 << 22

Exponents = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the matrix of one product of outer folders is found in the flat tensor."""

    outer_axes: tuple[str, ...]
    outer_strides: tuple[int, ...]
    feature_axis: str
    n_rows: int
    row_stride: int
    n_columns: int
    items_are_columns: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeansBlock:
    """Weighted means over consecutive outer folders; the array exists only while it is used."""

    flat: FloatArray
    layout: Layout
    outer: OuterFolders
    raised: RaisedFolders
    raised_scale: float
    """Factor that multiplies the raised section only."""
    ground_target: int | None
    """Matrix to which the single items of the feature axis add, with weight 1; None leaves them out."""
    raised_target: int
    """Matrix to which the raised folders of the feature axis add."""
    first: int
    last: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.flat.dtype

    @property
    def section_ends(self) -> IntArray:
        """Ends of the ground section, if there is one, and of the raised section."""
        raised_end = self._ground_end + _padded(self.raised.n_folders)
        return np.array([raised_end] if self.ground_target is None else [self._ground_end, raised_end])

    @property
    def section_targets(self) -> IntArray:
        """Matrices to which the sections add."""
        raised = self.raised_target
        return np.array([raised] if self.ground_target is None else [self.ground_target, raised])

    @property
    def _n_features(self) -> int:
        return self.layout.n_rows if self.layout.items_are_columns else self.layout.n_columns

    @property
    def _ground_end(self) -> int:
        return 0 if self.ground_target is None else _padded(self._n_features)

    def write_means(self, out: FloatArray) -> None:
        """Write the weighted folder means into `out`, zeros between the sections."""
        from haarbor.transport._means_kernels import fill_means, fill_means_transposed

        layout, outer, raised = self.layout, self.outer, self.raised
        dtype = self.flat.dtype
        fill = fill_means_transposed if layout.items_are_columns else fill_means
        fill(
            self.flat, outer.offsets, outer.begins, outer.scale.astype(dtype), self.first, self.last,
            layout.row_stride, self._n_features, raised.children, raised.child_begins,
            (raised.scale * self.raised_scale).astype(dtype), raised.column, self._ground_end, out,
        )  # fmt: skip


class FolderMeans:
    """Weighted folder means of one tensor, and the distances summed over them.

    Parameters
    ----------
    tensor : ndarray of float32 or float64, at least two axes
        Finite and of ordinary size. Copied once, unless the last axis already comes first in memory.
    axes : sequence of str
        Its axis names.
    """

    def __init__(self, tensor: FloatArray, axes: Sequence[str]) -> None:
        # The last axis (heads) comes first: a folder of heads is then a sum of whole matrices.
        self._axes = (axes[-1], *axes[:-1])
        self._tensor = _last_axis_first(tensor)
        self._shape = self._tensor.shape
        self._present: dict[str, BoolArray | None] = {}
        self._turned: FloatArray | None = None
        self._kept_sums: tuple[tuple[PartitionTree, ...], FloatArray] | None = None

    def n_items(self, axis: str) -> int:
        """Number of items of an axis."""
        return int(self._shape[self._axes.index(axis)])

    def outer_axes(self, axis: str) -> tuple[str, ...]:
        """Axes whose folders are summed over first when the slices of `axis` are compared."""
        return self._layout(axis).outer_axes

    def l1_sums(
        self,
        axis: str,
        trees: Mapping[str, PartitionTree],
        exponents: Exponents,
        engine: L1Engine,
        *,
        ground_parts: Sequence[OuterPart] = ("ground", "raised"),
    ) -> FloatArray:
        r"""L1 distances between the slices of `axis` over folders of all other axes, in three parts.

        Parameters
        ----------
        axis : str
        trees : mapping of axis name to PartitionTree
            One for every other axis.
        exponents : mapping of axis name to (alpha, beta)
        engine : L1Engine
        ground_parts : sequence of {"ground", "raised"}
            For which parts of the outer folders the single items of the feature axis are summed; the
            sums of the others stay zero.

        Returns
        -------
        ndarray of float64, shape (3, n, n)
            In terms of outer folders x folders of the feature axis: ground x ground with weight 1;
            raised x ground with the weight of the outer folder; all x raised with both weights.
        """
        layout = self._layout(axis)
        feature_axis = layout.feature_axis
        n_items = self.n_items(axis)
        require_few_products(layout.outer_axes, trees)
        require_moderate_weights(trees, exponents)
        raised = raised_folders(trees[feature_axis], *exponents[feature_axis], self._presence(axis, layout))
        if not layout.outer_axes:
            return self._matrix_sums(axis, raised, engine, with_ground="ground" in ground_parts)
        outer_exponents = [exponents[a] for a in layout.outer_axes]
        outer_trees = [trees[a] for a in layout.outer_axes]
        parts: tuple[tuple[OuterPart, int, float], ...] = (
            ("raised", 1, 1.0),
            ("ground", 0, _ground_weight(layout.outer_axes, trees, exponents)),
        )
        blocks: list[FeatureBlock] = []
        outer = outer_folders(outer_trees, layout.outer_strides, outer_exponents)
        for part, target, scale in parts:
            blocks += self._blocks(
                layout, outer[part], outer_trees, part, raised=raised, raised_scale=scale,
                ground_target=target if part in ground_parts else None,
            )  # fmt: skip
        return checked_sums(engine.l1_sums(blocks, n_items, 3), engine, n_items, 3)

    def _blocks(
        self,
        layout: Layout,
        outer: OuterFolders,
        outer_trees: Sequence[PartitionTree],
        part: OuterPart,
        *,
        raised: RaisedFolders,
        raised_scale: float,
        ground_target: int | None,
    ) -> list[FeatureBlock]:
        """Blocks of the products of outer folders of one part."""
        flat = self._tensor.reshape(-1)
        if part == "raised":
            flat, outer = self._summed(flat, outer, layout, outer_trees)
        return [
            MeansBlock(
                flat=flat, layout=layout, outer=outer, raised=raised, raised_scale=raised_scale,
                ground_target=ground_target, raised_target=2, first=first,
                last=min(first + OUTER_PER_BLOCK, outer.n_folders),
            )
            for first in range(0, outer.n_folders, OUTER_PER_BLOCK)
        ]  # fmt: skip

    def _matrix_sums(
        self, axis: str, raised: RaisedFolders, engine: L1Engine, *, with_ground: bool
    ) -> FloatArray:
        """Sums of :meth:`l1_sums` for a matrix: one product over no outer axes, which is a ground one."""
        if axis != self._axes[0]:
            items = self._tensor.T
        else:
            # The features of either axis lie side by side.
            if self._turned is None:
                self._turned = np.ascontiguousarray(self._tensor.T)
            items = self._turned.T
        ground = [MatrixBlock(items=items, raised=None, target=0)] if with_ground else []
        blocks = [*ground, MatrixBlock(items=items, raised=raised, target=2)]
        n_items = items.shape[0]
        return checked_sums(engine.l1_sums(blocks, n_items, 3), engine, n_items, 3)

    def _summed(
        self, flat: FloatArray, outer: OuterFolders, layout: Layout, trees: Sequence[PartitionTree]
    ) -> tuple[FloatArray, OuterFolders]:
        """The outer folders with their sums already computed, if another axis needs the same sums.

        Queries and keys are both compared over folders of heads. The matrices of such a folder are
        summed once for both, and again only when the head tree changes.
        """
        n_values = layout.n_rows * layout.n_columns
        shared = layout.row_stride == layout.n_columns and len(layout.outer_axes) > 0
        if not shared or outer.n_folders * n_values * flat.itemsize > _KEPT_BYTES:
            return flat, outer
        if self._kept_sums is None or self._kept_sums[0] != tuple(trees):
            self._kept_sums = (tuple(trees), _run_sums(flat, outer, n_values))
        return self._kept_sums[1].reshape(-1), OuterFolders(
            offsets=n_values * np.arange(outer.n_folders),
            begins=np.arange(outer.n_folders + 1),
            scale=outer.scale,
        )

    def weighted_total(
        self,
        axis: str,
        sums: Sequence[FloatArray] | FloatArray,
        trees: Mapping[str, PartitionTree],
        exponents: Exponents,
    ) -> FloatArray:
        """Tree EMD from the three parts of :meth:`l1_sums`."""
        layout = self._layout(axis)
        outer = _ground_weight(layout.outer_axes, trees, exponents)
        feature = _ground_weight((layout.feature_axis,), trees, exponents)
        total: FloatArray = outer * feature * sums[0]
        if layout.outer_axes:
            total += feature * sums[1]
        total += sums[2]
        return total

    def _layout(self, axis: str) -> Layout:
        shape = self._shape
        strides = [int(np.prod(shape[place + 1 :])) for place in range(len(shape))]
        items = self._axes.index(axis)
        columns = len(shape) - 1
        rows = columns - 1 if items == columns else items
        outer = [place for place in range(len(shape)) if place not in (rows, columns)]
        return Layout(
            outer_axes=tuple(self._axes[place] for place in outer),
            outer_strides=tuple(strides[place] for place in outer),
            feature_axis=self._axes[rows if items == columns else columns],
            n_rows=shape[rows],
            row_stride=strides[rows],
            n_columns=shape[columns],
            items_are_columns=items == columns,
        )

    def _presence(self, axis: str, layout: Layout) -> BoolArray | None:
        """Entries (item, feature) that are non-zero somewhere; None if all are."""
        from haarbor.transport._means_kernels import presence

        if axis not in self._present:
            offsets = np.zeros(1, dtype=np.int64)
            for name, stride in zip(layout.outer_axes, layout.outer_strides, strict=True):
                offsets = np.add.outer(offsets, stride * np.arange(self.n_items(name))).ravel()
            found = presence(
                self._tensor.reshape(-1), offsets, layout.n_rows, layout.row_stride, layout.n_columns
            )
            oriented = found.T if layout.items_are_columns else found
            self._present[axis] = None if found.all() else oriented
        return self._present[axis]


def _ground_weight(axes: Sequence[str], trees: Mapping[str, PartitionTree], exponents: Exponents) -> float:
    """Weight of a product of singletons, one per axis, at the last levels of their trees."""
    return float(np.prod([ground_weight(trees[axis], *exponents[axis]) for axis in axes]))


def require_sums_fit(axes: Sequence[str], shape: Sequence[int]) -> None:
    """Raise if the distances along the axes of a tensor cannot fit into memory, whatever its trees are."""
    for axis, n_items in zip(axes, shape, strict=False):
        require_distances_fit(axis, n_items)
    # A tree of several items has at least one folder more than items. Products are formed over all axes
    # but two: the one compared and the feature axis.
    folders = [n_items + 1 if n_items > 1 else 1 for n_items in sorted(shape)[:-2]]
    _require_fewer_products(math.prod(folders), 0, axes[:-2])


def require_distances_fit(axis: str, n_items: int) -> None:
    """Raise if the matrices of distances between the items of an axis do not fit into memory."""
    require_memory(
        5 * 8 * n_items**2,
        f"the distances between {n_items} items of axis {axis!r}",
        "Take fewer items of that axis.",
    )


def require_few_products(axes: Sequence[str], trees: Mapping[str, PartitionTree]) -> None:
    """Raise if the list of the products of the folders of `axes` does not fit into memory."""
    products = math.prod(trees[axis].pruned.n_folders for axis in axes)
    offsets = math.prod(int(trees[axis].pruned.sizes.sum()) for axis in axes)
    _require_fewer_products(products, offsets, axes)


def _require_fewer_products(products: int, offsets: int, axes: Sequence[str]) -> None:
    require_memory(
        200 * products + 3 * 8 * offsets,
        f"{products} products of the folders of {len(axes)} axes",
        "Organise fewer axes: a slice of the tensor, or its mean over one of them.",
    )


def require_moderate_weights(trees: Mapping[str, PartitionTree], exponents: Exponents) -> None:
    """Raise if the product of the largest weights of all trees is too large for sums in float32."""
    if all(alpha >= 0 and beta >= 0 for alpha, beta in exponents.values()):
        # No level of a folder adds more than 1.
        least_sum = sum(math.log2(tree.n_levels) for tree in trees.values())
        if least_sum <= LARGEST_LOG_WEIGHT:
            return
    largest = sum(math.log2(trees[axis].pruned.weights(*exponents[axis]).max()) for axis in trees)
    if largest > LARGEST_LOG_WEIGHT:
        raise SettingError(
            f"alpha and beta must keep the weights of folders below 2**{LARGEST_LOG_WEIGHT}; over the trees "
            f"of {', '.join(map(repr, trees))} together they reach 2**{largest:.0f}. Choose exponents nearer "
            "to 0."
        )


def _padded(n_features: int) -> int:
    """Columns of a section: every feature once per outer folder of a block, rounded up to the grain."""
    return -(-n_features * OUTER_PER_BLOCK // SECTION_GRAIN) * SECTION_GRAIN


def _run_sums(flat: FloatArray, outer: OuterFolders, n_values: int) -> FloatArray:
    from haarbor.transport._means_kernels import sum_runs

    sums: FloatArray = np.empty((outer.n_folders, n_values), flat.dtype)
    threads = usable_cores()
    cuts = [int(cut) for cut in np.linspace(0, outer.n_folders, 4 * threads + 1)]

    def form(piece: tuple[int, int]) -> None:
        sum_runs(flat, outer.offsets, outer.begins, *piece, sums)

    for _ in ordered_results(form, list(pairwise(cuts)), threads):
        pass
    return sums


def _last_axis_first(tensor: FloatArray) -> FloatArray:
    from haarbor.transport._means_kernels import last_axis_first

    moved = np.moveaxis(tensor, -1, 0)
    small = tensor.size < _WORTH_COMPILING
    if small or moved.flags.c_contiguous or not tensor.flags.c_contiguous or tensor.ndim < 3:
        return np.ascontiguousarray(moved)
    n_first, n_last = tensor.shape[0], tensor.shape[-1]
    copy: FloatArray = np.empty(moved.shape, tensor.dtype)
    source = tensor.reshape(n_first, -1, n_last)
    target = copy.reshape(n_last, n_first, -1)
    threads = usable_cores()
    cuts = [int(cut) for cut in np.linspace(0, n_first, threads + 1)]
    pieces = list(pairwise(cuts))

    def move(piece: tuple[int, int]) -> None:
        last_axis_first(source, target, *piece)

    for _ in ordered_results(move, pieces, threads):
        pass
    return copy
