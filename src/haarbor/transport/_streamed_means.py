"""Folder means of a tensor that lies in a file and is read block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, IntArray
from haarbor.engines import FeatureBlock
from haarbor.transport._block_shape import OUTER_PER_BLOCK
from haarbor.transport._folder_features import OuterFolders, OuterPart, RaisedFolders
from haarbor.transport._folder_means import FolderMeans, Layout, MeansBlock
from haarbor.transport._mapped_tensor import MappedTensor
from haarbor.transport._scratch_tensor import ScratchTensor
from haarbor.trees import PartitionTree

__all__ = ["StreamedFolderMeans"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StreamedBlock:
    """A block whose matrices are read when its means are formed, and forgotten after."""

    read: Callable[[int, int], FloatArray]
    """From the first to the last outer folder: their matrices, one after the other."""
    means: MeansBlock
    """The block as it is once they are read, with an empty `flat`."""
    scale: FloatArray
    first: int
    last: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.means.dtype

    @property
    def section_ends(self) -> IntArray:
        """Ends of its sections."""
        return self.means.section_ends

    @property
    def section_targets(self) -> IntArray:
        """Matrices to which the sections add."""
        return self.means.section_targets

    def write_means(self, out: FloatArray) -> None:
        """Read the matrices and write their weighted means into `out`."""
        n_folders = self.last - self.first
        layout = self.means.layout
        outer = OuterFolders(
            offsets=layout.n_rows * layout.n_columns * np.arange(n_folders),
            begins=np.arange(n_folders + 1),
            scale=self.scale[self.first : self.last],
        )
        flat = self.read(self.first, self.last).reshape(-1)
        replace(self.means, flat=flat, outer=outer, first=0, last=n_folders).write_means(out)


class StreamedFolderMeans(FolderMeans):
    """Folder means of a tensor in a file; equal bit for bit to those of the same tensor in memory.

    What is summed over raised folders of the outer axis is written to a second file, once for every tree;
    queries and keys share it. So a step reads every number of the tensor and of the sums once.

    Parameters
    ----------
    tensor : ScratchTensor or MappedTensor
        The last axis first: (head, query, key). Finite and of ordinary size.
    axes : sequence of str
        Names of the axes in the order (query, key, head).
    present : mapping of axis name to ndarray of bool
        For the last and the first axis: which (item, feature) are not zero somewhere. The feature axis is
        the second one.
    piece_bytes : int
        How much of the tensor is in memory while sums are made.
    """

    def __init__(
        self,
        tensor: ScratchTensor | MappedTensor,
        axes: Sequence[str],
        present: dict[str, BoolArray],
        piece_bytes: int,
    ) -> None:
        self._axes = (axes[-1], *axes[:-1])
        self._scratch = tensor
        self._shape = (tensor.shape[0], tensor.shape[1], tensor.shape[2])
        self._piece_bytes = piece_bytes
        last, first, second = self._axes
        self._present = {
            last: None if present[last].all() else present[last],
            first: None if present[first].all() else present[first],
            second: None if present[first].all() else present[first].T,
        }
        self._sums: tuple[tuple[PartitionTree, ...], ScratchTensor] | None = None

    def _presence(self, axis: str, layout: Layout) -> BoolArray | None:
        return self._present[axis]

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
        by_head = layout.outer_axes[0] == self._axes[0]
        step = layout.outer_strides[0]
        if part == "ground":
            read = (_reader if by_head else _query_reader)(self._scratch, outer.offsets // step)
        else:
            sums = self._summed_file(outer, outer_trees, step, by_head=by_head)
            read = _reader(sums, np.arange(outer.n_folders))
        # The matrices that are read are contiguous.
        together = replace(layout, row_stride=layout.n_columns)
        empty: FloatArray = np.empty(0, self._scratch.dtype)
        means = MeansBlock(
            flat=empty, layout=together, outer=outer, raised=raised, raised_scale=raised_scale,
            ground_target=ground_target, raised_target=2, first=0, last=0,
        )  # fmt: skip
        return [
            StreamedBlock(
                read=read, means=means, scale=outer.scale, first=first,
                last=min(first + OUTER_PER_BLOCK, outer.n_folders),
            )
            for first in range(0, outer.n_folders, OUTER_PER_BLOCK)
        ]  # fmt: skip

    def _summed_file(
        self, outer: OuterFolders, trees: Sequence[PartitionTree], step: int, *, by_head: bool
    ) -> ScratchTensor:
        """Sums over the outer folders, in a file; of heads they are kept until the tree changes."""
        if by_head and self._sums is not None and self._sums[0] == tuple(trees):
            return self._sums[1]
        # First, because its file takes as much room as the new one.
        self._sums = None if by_head else self._sums
        members = outer.offsets // step
        sums = (self._head_sums if by_head else self._query_sums)(members, outer)
        if by_head:
            self._sums = (tuple(trees), sums)
        return sums

    def _head_sums(self, members: IntArray, outer: OuterFolders) -> ScratchTensor:
        """Sums over folders of heads, some queries at a time."""
        from haarbor.transport._means_kernels import sum_runs

        n_heads, n_queries, n_keys = self._shape
        sums = ScratchTensor((outer.n_folders, n_queries, n_keys), self._scratch.dtype)
        bytes_per_query = (n_heads + outer.n_folders) * n_keys * sums.dtype.itemsize
        n_together = max(1, min(n_queries, self._piece_bytes // bytes_per_query))
        for query in range(0, n_queries, n_together):
            width = min(n_together, n_queries - query) * n_keys
            flat: FloatArray = np.empty((n_heads, width), sums.dtype)
            for head in range(n_heads):
                self._scratch.read((head, query, 0), flat[head])
            out: FloatArray = np.empty((outer.n_folders, width), sums.dtype)
            sum_runs(flat.reshape(-1), members * width, outer.begins, 0, outer.n_folders, out)
            for folder in range(outer.n_folders):
                sums.write((folder, query, 0), out[folder])
        return sums

    def _query_sums(self, members: IntArray, outer: OuterFolders) -> ScratchTensor:
        """Sums over folders of queries, some heads at a time."""
        from haarbor.transport._means_kernels import sum_runs

        n_heads, n_queries, n_keys = self._shape
        sums = ScratchTensor((outer.n_folders, n_heads, n_keys), self._scratch.dtype)
        bytes_per_head = (n_queries + outer.n_folders) * n_keys * sums.dtype.itemsize
        n_together = max(1, min(n_heads, self._piece_bytes // bytes_per_head))
        for head in range(0, n_heads, n_together):
            count = min(n_together, n_heads - head)
            out: FloatArray = np.empty((count, outer.n_folders, n_keys), sums.dtype)
            flat: FloatArray = np.empty((n_queries, n_keys), sums.dtype)
            for place in range(count):
                self._scratch.read((head + place, 0, 0), flat)
                sum_runs(flat.reshape(-1), members * n_keys, outer.begins, 0, outer.n_folders, out[place])
            for folder in range(outer.n_folders):
                sums.write((folder, head, 0), out[:, folder])
        return sums


def _reader(tensor: ScratchTensor | MappedTensor, items: IntArray) -> Callable[[int, int], FloatArray]:
    """Reads matrices of a file, given by their numbers in the order of the folders."""

    def read(first: int, last: int) -> FloatArray:
        matrices: FloatArray = np.empty((last - first, *tensor.shape[1:]), tensor.dtype)
        for place, item in enumerate(items[first:last]):
            tensor.read((int(item), 0, 0), matrices[place])
        return matrices

    return read


def _query_reader(tensor: ScratchTensor | MappedTensor, items: IntArray) -> Callable[[int, int], FloatArray]:
    """Reads the (head, key) matrices of queries, row by row; a second file by queries would be as large."""
    n_heads, _, n_keys = tensor.shape

    def read(first: int, last: int) -> FloatArray:
        matrices: FloatArray = np.empty((last - first, n_heads, n_keys), tensor.dtype)
        # Onwards through the file.
        ordered = np.argsort(items[first:last]).tolist()
        for head in range(n_heads):
            for place in ordered:
                tensor.read((head, int(items[first + place]), 0), matrices[place, head])
        return matrices

    return read
