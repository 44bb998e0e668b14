"""Compiled Haar analysis and synthesis along one axis. Inputs are not checked.

A tree of n items has n - 1 functions, numbered from 1 with parents before children. Function j
joins two nodes, `left[j]` and `right[j]`; nodes below n are items, node n + j is the union that
function j splits. Both kernels work on the array (before, n, after) in stripes of columns, and
read a stripe whole before they write it: source and target may be the same array.
"""

import numpy as np

from haarbor.compiled import compiled

__all__ = ["add_powers", "analyse", "synthesise"]


@compiled(inner=True)
def _analyse_stripe(source, left, right, sizes, sums, target):
    n, width = source.shape
    for item in range(n):
        for column in range(width):
            sums[item, column] = source[item, column]
    for j in range(n - 1, 0, -1):
        a, b = sizes[left[j]], sizes[right[j]]
        norm = np.sqrt(a * b / (a + b))
        weight_a, weight_b = norm / a, norm / b
        positive, negative, union = sums[left[j]], sums[right[j]], sums[n + j]
        out = target[j]
        for column in range(width):
            p, q = positive[column], negative[column]
            out[column] = p * weight_a - q * weight_b
            union[column] = p + q
    root = n + 1 if n > 1 else 0
    for column in range(width):
        target[0, column] = sums[root, column] / np.sqrt(n)


@compiled(inner=True)
def _synthesise_stripe(source, left, right, sizes, means, target):
    n, width = source.shape
    root = n + 1 if n > 1 else 0
    for column in range(width):
        means[root, column] = source[0, column] / np.sqrt(n)
    for j in range(1, n):
        a, b = sizes[left[j]], sizes[right[j]]
        norm = np.sqrt(a * b / (a + b))
        share_a, share_b = a / (a + b) / norm, b / (a + b) / norm
        positive, negative, union = means[left[j]], means[right[j]], means[n + j]
        coefficient = source[j]
        for column in range(width):
            m, c = union[column], coefficient[column]
            positive[column] = m + c * share_b
            negative[column] = m - c * share_a
    for item in range(n):
        for column in range(width):
            target[item, column] = means[item, column]


@compiled()
def analyse(source, left, right, sizes, first, last, stripe, target):
    """Haar coefficients of columns `first` to `last` of every (n, after) matrix."""
    n = source.shape[1]
    sums = np.empty((2 * n, stripe), np.float64)
    for before in range(source.shape[0]):
        for begin in range(first, last, stripe):
            end = min(begin + stripe, last)
            _analyse_stripe(
                source[before, :, begin:end], left, right, sizes, sums, target[before, :, begin:end]
            )


@compiled()
def synthesise(source, left, right, sizes, first, last, stripe, target):
    """Inverse of `analyse`."""
    n = source.shape[1]
    means = np.empty((2 * n, stripe), np.float64)
    for before in range(source.shape[0]):
        for begin in range(first, last, stripe):
            end = min(begin + stripe, last)
            _synthesise_stripe(
                source[before, :, begin:end], left, right, sizes, means, target[before, :, begin:end]
            )


@compiled()
def add_powers(rows, p, sums):
    """sums[0] += |rows|^p and sums[1] += rows^2, added over the rows, one entry per column."""
    for row in range(rows.shape[0]):
        values = rows[row]
        if p == 1.0:
            for column in range(values.size):
                value = np.float64(values[column])
                sums[0, column] += abs(value)
                sums[1, column] += value * value
        else:
            for column in range(values.size):
                value = np.float64(values[column])
                if value != 0.0:
                    sums[0, column] += abs(value) ** p
                sums[1, column] += value * value
