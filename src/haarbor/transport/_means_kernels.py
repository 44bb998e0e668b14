"""Compiled folder means of a tensor. Inputs are not checked.

The tensor is one flat array. Every product of outer folders has a matrix with items along one axis and
features along the other. A block holds several outer folders; its columns run over the features and,
fastest, over the outer folders of the block. So neighbouring columns are zero in the same rows (a query
sees no later key, whatever the head), and folders of the feature axis are sums of short contiguous runs.
"""

from typing import Any

import numpy as np

from haarbor.array_types import BoolArray, FloatArray, IntArray
from haarbor.compiled import compiled
from haarbor.transport._block_shape import OUTER_PER_BLOCK

__all__ = ["fill_means", "fill_means_transposed", "last_axis_first", "matrix_means", "presence", "sum_runs"]


@compiled(inner=True)
def _emit(work, n_features, children, child_begins, group_scale, group_column, second, target):
    """Write the row of one item: groups from column `second`, and features from column 0 if `second` > 0.

    `work` is (n_features + n_groups, OUTER_PER_BLOCK) with the features filled in. A child below
    n_features is a feature, any other an earlier group.
    """
    if second > 0:
        for f in range(n_features):
            for g in range(OUTER_PER_BLOCK):
                target[f * OUTER_PER_BLOCK + g] = work[f, g]
        for place in range(n_features * OUTER_PER_BLOCK, second):
            target[place] = 0
    for place in range(second + group_scale.size * OUTER_PER_BLOCK, target.size):
        target[place] = 0
    for group in range(group_scale.size):
        total = work[n_features + group]
        for g in range(OUTER_PER_BLOCK):
            total[g] = 0
        for place in range(child_begins[group], child_begins[group + 1]):
            part = work[children[place]]
            for g in range(OUTER_PER_BLOCK):
                total[g] += part[g]
        scale = group_scale[group]
        begin = second + group_column[group] * OUTER_PER_BLOCK
        here = target[begin : begin + OUTER_PER_BLOCK]
        for g in range(OUTER_PER_BLOCK):
            here[g] = total[g] * scale


@compiled(inner=True)
def _interleave(rows, left, n_values, scale, work):
    """work[f, g] = rows[g, left + f] * scale[g]; eight named rows, as indexed ones are three times slower."""
    a0, a1, a2, a3 = rows[0], rows[1], rows[2], rows[3]
    a4, a5, a6, a7 = rows[4], rows[5], rows[6], rows[7]
    s0, s1, s2, s3, s4, s5, s6, s7 = (
        scale[0], scale[1], scale[2], scale[3], scale[4], scale[5], scale[6], scale[7],
    )  # fmt: skip
    for f in range(n_values):
        here = work[f]
        # Without a sign: an index that could be negative would be checked at every step.
        c = np.uint64(left + f)
        here[0] = a0[c] * s0
        here[1] = a1[c] * s1
        here[2] = a2[c] * s2
        here[3] = a3[c] * s3
        here[4] = a4[c] * s4
        here[5] = a5[c] * s5
        here[6] = a6[c] * s6
        here[7] = a7[c] * s7


@compiled(inner=True)
def _sum_rows(flat, offsets, offset_begins, first, last, lead, width, rows):
    """rows[g] = sum of the rows that begin `lead` after the offsets of the g-th outer folder of the block."""
    for g in range(last - first):
        begin, end = offset_begins[first + g], offset_begins[first + g + 1]
        target = rows[g]
        for part in range(begin, end):
            place = offsets[part] + lead
            source = flat[place : place + width]
            if part == begin:
                for f in range(width):
                    target[f] = source[f]
            else:
                for f in range(width):
                    target[f] += source[f]


def fill_means(
    flat: FloatArray, offsets: IntArray, offset_begins: IntArray, outer_scale: FloatArray, first: int,
    last: int, item_stride: int, n_features: int, children: IntArray, child_begins: IntArray,
    group_scale: FloatArray, group_column: IntArray, second: int, out: FloatArray,
) -> None:  # fmt: skip
    """Weighted means over outer folders `first` to `last`; the features of an item are contiguous."""
    # Items that follow one another in memory are summed several at a time: longer runs, fewer jumps.
    span = 4 if item_stride == n_features else 1
    # Memory comes from Python: a kernel that takes its own is compiled much longer.
    rows = np.zeros((OUTER_PER_BLOCK, span * n_features), flat.dtype)
    work = np.zeros((n_features + group_scale.size, OUTER_PER_BLOCK), flat.dtype)
    means_kernel(
        flat, offsets, offset_begins, _scales(outer_scale, first, last, flat.dtype), first, last, item_stride,
        n_features, children, child_begins, group_scale, group_column, second, span, rows, work, out,
    )  # fmt: skip


def _scales(outer_scale: FloatArray, first: int, last: int, dtype: Any) -> FloatArray:
    """Scales of the outer folders of a block, zeros after the last."""
    scale: FloatArray = np.zeros(OUTER_PER_BLOCK, dtype)
    scale[: last - first] = outer_scale[first:last]
    return scale


@compiled()
def means_kernel(
    flat, offsets, offset_begins, scale, first, last, item_stride, n_features,
    children, child_begins, group_scale, group_column, second, span, rows, work, out,
):  # fmt: skip
    """What `fill_means` says, with zeros to work in."""
    n_items = out.shape[0]
    for item in range(0, n_items, span):
        width = min(span, n_items - item) * n_features
        _sum_rows(flat, offsets, offset_begins, first, last, item * item_stride, width, rows)
        for left in range(0, width, n_features):
            _interleave(rows, left, n_features, scale, work)
            here = out[item + left // n_features]
            _emit(work, n_features, children, child_begins, group_scale, group_column, second, here)


def fill_means_transposed(
    flat: FloatArray, offsets: IntArray, offset_begins: IntArray, outer_scale: FloatArray, first: int,
    last: int, feature_stride: int, n_features: int, children: IntArray, child_begins: IntArray,
    group_scale: FloatArray, group_column: IntArray, second: int, out: FloatArray,
) -> None:  # fmt: skip
    """Like `fill_means` for tensors in which the items of a feature are contiguous; in stripes of items."""
    stripe = 128
    rows = np.zeros((OUTER_PER_BLOCK, stripe), flat.dtype)
    work = np.zeros((n_features + group_scale.size, OUTER_PER_BLOCK), flat.dtype)
    striped = np.zeros((n_features * stripe, OUTER_PER_BLOCK), flat.dtype)
    transposed_means_kernel(
        flat, offsets, offset_begins, _scales(outer_scale, first, last, flat.dtype), first, last,
        feature_stride, n_features, children, child_begins, group_scale, group_column, second, rows, work,
        striped, out,
    )  # fmt: skip


@compiled()
def transposed_means_kernel(
    flat, offsets, offset_begins, scale, first, last, feature_stride, n_features,
    children, child_begins, group_scale, group_column, second, rows, work, striped, out,
):  # fmt: skip
    """What `fill_means_transposed` says, with memory to work in."""
    n_items = out.shape[0]
    stripe = rows.shape[1]
    for left in range(0, n_items, stripe):
        width = min(stripe, n_items - left)
        for f in range(n_features):
            lead = f * feature_stride + left
            _sum_rows(flat, offsets, offset_begins, first, last, lead, width, rows)
            _interleave(rows, np.int64(0), width, scale, striped[f * stripe : (f + 1) * stripe])
        for i in range(width):
            for f in range(n_features):
                source = striped[f * stripe + i]
                for g in range(OUTER_PER_BLOCK):
                    work[f, g] = source[g]
            _emit(work, n_features, children, child_begins, group_scale, group_column, second, out[left + i])


@compiled()
def matrix_means(features, children, child_begins, group_scale, group_column, sums, out):
    """out[i, column of g] = scaled sum of column i of `features` over the folder g, made from its children.

    `features` has one row per feature, and `sums` one of zeros per folder: whole rows are added at a time.
    """
    n_features, n_items = features.shape
    for group in range(group_scale.size):
        total = sums[group]
        for place in range(child_begins[group], child_begins[group + 1]):
            child = children[place]
            if child < n_features:
                feature = features[child]
                for i in range(n_items):
                    total[i] += feature[i]
            else:
                earlier = sums[child - n_features]
                for i in range(n_items):
                    total[i] += earlier[i]
    # Sixteen items at a time, so that what is written stays in cache.
    for first in range(0, n_items, 16):
        for group in range(group_scale.size):
            scale, column, total = group_scale[group], group_column[group], sums[group]
            for i in range(first, min(first + 16, n_items)):
                out[i, column] = total[i] * scale


@compiled()
def sum_runs(flat, offsets, offset_begins, first, last, out):
    """out[g] = sum over the offsets of folder g of the contiguous run that begins there."""
    n_values = out.shape[1]
    for g in range(first, last):
        total = out[g]
        # Piece by piece, so that the sum stays in cache while its parts stream through.
        for left in range(0, n_values, 2048):
            width = min(2048, n_values - left)
            piece = total[left : left + width]
            for i in range(width):
                piece[i] = 0
            for part in range(offset_begins[g], offset_begins[g + 1]):
                place = offsets[part] + left
                source = flat[place : place + width]
                for i in range(width):
                    piece[i] += source[i]


@compiled()
def last_axis_first(source, target, first, last):
    """target[h, i, k] = source[i, k, h] for i from `first` to `last`.

    `source` has shape (n, m, n_last), `target` (n_last, n, m); squares of 16 keep both sides in cache.
    """
    n_middle, n_last = source.shape[1], source.shape[2]
    for i in range(first, last):
        for k0 in range(0, n_middle, 16):
            for h0 in range(0, n_last, 16):
                for h in range(h0, min(h0 + 16, n_last)):
                    for k in range(k0, min(k0 + 16, n_middle)):
                        target[h, i, k] = source[i, k, h]


def presence(flat: FloatArray, offsets: IntArray, n_rows: int, row_stride: int, n_columns: int) -> BoolArray:
    """Whether any of the matrices that begin at `offsets` is non-zero, for each entry."""
    # numpy is quick enough, and needs not be compiled before the first result.
    found = np.zeros((n_rows, n_columns), np.bool_)
    strides = (row_stride * flat.itemsize, flat.itemsize)
    for offset in offsets:
        matrix = np.ndarray(found.shape, flat.dtype, flat, int(offset) * flat.itemsize, strides)
        found |= matrix != 0
    return found
