"""Compiled folder means of a tensor. Nothing here checks its input.

The tensor is one flat array. Under every product of outer folders lies a matrix with items along
one axis and features along the other. A block holds several outer folders; its columns run over
the features and, fastest, over the outer folders of the block. So neighbouring columns are zero
in the same rows (a query sees no later key, whatever the head), and folders along the feature axis
are sums of short contiguous runs.
"""

import numpy as np
from numba import njit

from haarbor.transport.block_shape import OUTER_PER_BLOCK

__all__ = ["fill_means", "fill_means_transposed", "last_axis_first", "presence"]


@njit(nogil=True, cache=True)
def _emit(work, n_features, children, child_begins, group_scale, group_column, second, target):
    """Write one item's row: the features from column 0 if `second` leaves room, groups from there.

    `work` is (n_features + n_groups, OUTER_PER_BLOCK) with the features filled in. A child below
    n_features is a feature, any other an earlier group.
    """
    if second > 0:
        for f in range(n_features):
            for g in range(OUTER_PER_BLOCK):
                target[f * OUTER_PER_BLOCK + g] = work[f, g]
        target[n_features * OUTER_PER_BLOCK : second] = 0
    target[second + group_scale.size * OUTER_PER_BLOCK :] = 0
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


@njit(nogil=True, cache=True)
def fill_means(
    flat, offsets, offset_begins, outer_scale, first, last, item_stride, n_features,
    children, child_begins, group_scale, group_column, second, out,
):  # fmt: skip
    """Weighted means over outer folders `first` to `last`; the features of an item are contiguous."""
    rows = np.zeros((OUTER_PER_BLOCK, n_features), flat.dtype)
    work = np.empty((n_features + group_scale.size, OUTER_PER_BLOCK), flat.dtype)
    for item in range(out.shape[0]):
        for g in range(last - first):
            begin, end = offset_begins[first + g], offset_begins[first + g + 1]
            place = offsets[begin] + item * item_stride
            row = rows[g]
            row[:] = flat[place : place + n_features]
            for part in range(begin + 1, end):
                place = offsets[part] + item * item_stride
                source = flat[place : place + n_features]
                for f in range(n_features):
                    row[f] += source[f]
            scale = outer_scale[first + g]
            for f in range(n_features):
                row[f] *= scale
        for f in range(n_features):
            for g in range(OUTER_PER_BLOCK):
                work[f, g] = rows[g, f]
        _emit(
            work, n_features, children, child_begins, group_scale, group_column, second, out[item]
        )  # fmt: skip


@njit(nogil=True, cache=True)
def fill_means_transposed(
    flat, offsets, offset_begins, outer_scale, first, last, feature_stride, n_features,
    children, child_begins, group_scale, group_column, second, out,
):  # fmt: skip
    """The same where the items of a feature are contiguous: worked in stripes of items."""
    n_items = out.shape[0]
    stripe, turned = 64, 8
    striped = np.zeros((n_features, OUTER_PER_BLOCK, stripe), flat.dtype)
    work = np.empty((turned, n_features + group_scale.size, OUTER_PER_BLOCK), flat.dtype)
    for left in range(0, n_items, stripe):
        width = min(stripe, n_items - left)
        for f in range(n_features):
            lead = f * feature_stride + left
            for g in range(last - first):
                begin, end = offset_begins[first + g], offset_begins[first + g + 1]
                total = striped[f, g, :width]
                total[:] = flat[offsets[begin] + lead : offsets[begin] + lead + width]
                for part in range(begin + 1, end):
                    source = flat[offsets[part] + lead : offsets[part] + lead + width]
                    for i in range(width):
                        total[i] += source[i]
                scale = outer_scale[first + g]
                for i in range(width):
                    total[i] *= scale
        # Turned a few items at a time, so that each line of the stripe is read once; what lies
        # beyond the last item is turned too and not used.
        for corner in range(0, width, turned):
            for f in range(n_features):
                for g in range(OUTER_PER_BLOCK):
                    source = striped[f, g, corner : corner + turned]
                    for i in range(turned):
                        work[i, f, g] = source[i]
            for i in range(min(turned, width - corner)):
                _emit(
                    work[i], n_features, children, child_begins, group_scale, group_column,
                    second, out[left + corner + i],
                )  # fmt: skip


@njit(nogil=True, cache=True)
def last_axis_first(source, target, first, last):
    """target[h, i] = source[i, h] for i in `first` to `last`, each a run of its own along an axis.

    source is (n, m, n_last) and target (n_last, n, m); squares of 16 keep both sides in cache.
    """
    n_middle, n_last = source.shape[1], source.shape[2]
    for i in range(first, last):
        for k0 in range(0, n_middle, 16):
            for h0 in range(0, n_last, 16):
                for h in range(h0, min(h0 + 16, n_last)):
                    for k in range(k0, min(k0 + 16, n_middle)):
                        target[h, i, k] = source[i, k, h]


@njit(nogil=True, cache=True)
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
