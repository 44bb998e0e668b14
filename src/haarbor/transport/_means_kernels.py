"""Compiled folder means of a tensor. Inputs are not checked.

The tensor is one flat array. Every product of outer folders has a matrix with items along one axis and
features along the other. A block holds several outer folders; its columns run over the features and,
fastest, over the outer folders of the block. So neighbouring columns are zero in the same rows (a query
sees no later key, whatever the head), and folders of the feature axis are sums of short contiguous runs.
"""

import numpy as np

from haarbor.compiled import compiled
from haarbor.transport._block_shape import OUTER_PER_BLOCK

__all__ = ["fill_means", "fill_means_transposed", "last_axis_first", "presence", "sum_runs"]


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
    right = left + n_values
    a0, a1, a2, a3 = rows[0, left:right], rows[1, left:right], rows[2, left:right], rows[3, left:right]
    a4, a5, a6, a7 = rows[4, left:right], rows[5, left:right], rows[6, left:right], rows[7, left:right]
    s0, s1, s2, s3, s4, s5, s6, s7 = (
        scale[0], scale[1], scale[2], scale[3], scale[4], scale[5], scale[6], scale[7],
    )  # fmt: skip
    for f in range(n_values):
        here = work[f]
        here[0] = a0[f] * s0
        here[1] = a1[f] * s1
        here[2] = a2[f] * s2
        here[3] = a3[f] * s3
        here[4] = a4[f] * s4
        here[5] = a5[f] * s5
        here[6] = a6[f] * s6
        here[7] = a7[f] * s7


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


@compiled()
def fill_means(
    flat, offsets, offset_begins, outer_scale, first, last, item_stride, n_features,
    children, child_begins, group_scale, group_column, second, out,
):  # fmt: skip
    """Weighted means over outer folders `first` to `last`; the features of an item are contiguous."""
    # Items that follow one another in memory are summed several at a time: longer runs, fewer jumps.
    span = 4 if item_stride == n_features else 1
    # One more row holds the scales: arrays of one shape and type are compiled once.
    rows = np.zeros((OUTER_PER_BLOCK + 1, max(span * n_features, OUTER_PER_BLOCK)), flat.dtype)
    scale = rows[OUTER_PER_BLOCK]
    for g in range(last - first):
        scale[g] = outer_scale[first + g]
    work = np.zeros((n_features + group_scale.size, OUTER_PER_BLOCK), flat.dtype)
    n_items = out.shape[0]
    for item in range(0, n_items, span):
        width = min(span, n_items - item) * n_features
        _sum_rows(flat, offsets, offset_begins, first, last, item * item_stride, width, rows)
        for left in range(0, width, n_features):
            _interleave(rows, left, n_features, scale, work)
            here = out[item + left // n_features]
            _emit(work, n_features, children, child_begins, group_scale, group_column, second, here)


@compiled()
def fill_means_transposed(
    flat, offsets, offset_begins, outer_scale, first, last, feature_stride, n_features,
    children, child_begins, group_scale, group_column, second, out,
):  # fmt: skip
    """Like `fill_means` for tensors in which the items of a feature are contiguous; in stripes of items."""
    n_items = out.shape[0]
    stripe = 128
    rows = np.zeros((OUTER_PER_BLOCK + 1, stripe), flat.dtype)
    scale = rows[OUTER_PER_BLOCK]
    for g in range(last - first):
        scale[g] = outer_scale[first + g]
    work = np.zeros((n_features + group_scale.size, OUTER_PER_BLOCK), flat.dtype)
    striped = np.zeros((n_features * stripe, OUTER_PER_BLOCK), flat.dtype)
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


@compiled()
def presence(flat, offsets, n_rows, row_stride, n_columns):
    """Whether any of the matrices that begin at `offsets` is non-zero, for each entry."""
    found = np.zeros((n_rows, n_columns), np.bool_)
    for offset in offsets:
        for row in range(n_rows):
            begin = offset + row * row_stride
            source = flat[begin : begin + n_columns]
            target = found[row]
            for column in range(n_columns):
                target[column] |= source[column] != 0
    return found
