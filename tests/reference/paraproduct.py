"""Theory 4 and 5 written out: full-size averages for every pair of scales, Jacobians as matrices."""

import itertools
import math

import numpy as np

from tests.reference.folders import folders_of_level


def average(f, valid, row_levels, column_levels, level, scale):
    """Mean of the valid entries of every rectangle, written on all of its entries; 0 where there are none."""
    f = np.asarray(f, dtype=float)
    result = np.zeros(f.shape)
    for rows in folders_of_level(row_levels[level]):
        for columns in folders_of_level(column_levels[scale]):
            entries = [(i, k) for i in rows for k in columns if valid[i][k]]
            if not entries:
                continue
            mean = math.fsum(f[i, k] for i, k in entries) / len(entries)
            for i in rows:
                for k in columns:
                    result[i, k] = mean
    return result


def all_averages(f, valid, row_levels, column_levels):
    return [
        [average(f, valid, row_levels, column_levels, level, scale) for scale in range(len(column_levels))]
        for level in range(len(row_levels))
    ]


class Pointwise:
    """A map applied entry by entry, with its derivatives."""

    def __init__(self, value, first, second, valid):
        self.functions, self.valid = (value, first, second), np.asarray(valid)

    def __call__(self, u):
        return np.where(self.valid, self.functions[0](u), 0.0)

    def first(self, u, v):
        return np.where(self.valid, self.functions[1](u) * v, 0.0)

    def second(self, u, x, y):
        return np.where(self.valid, self.functions[2](u) * x * y, 0.0)


class RowSoftmax:
    """Softmax of every row over its valid entries, with its derivatives as full tensors."""

    def __init__(self, valid):
        self.valid = np.asarray(valid)

    def _rows(self, *arrays):
        for i in range(self.valid.shape[0]):
            keep = np.flatnonzero(self.valid[i])
            if keep.size:
                yield i, keep, *(array[i, keep] for array in arrays)

    def _softmax(self, row):
        weights = [math.exp(value - max(row)) for value in row]
        return np.array(weights) / math.fsum(weights)

    def __call__(self, u):
        result = np.zeros(u.shape)
        for i, keep, row in self._rows(u):
            result[i, keep] = self._softmax(row)
        return result

    def first(self, u, v):
        result = np.zeros(u.shape)
        for i, keep, row, direction in self._rows(u, v):
            p = self._softmax(row)
            result[i, keep] = (np.diag(p) - np.outer(p, p)) @ direction
        return result

    def second(self, u, x, y):
        result = np.zeros(u.shape)
        for i, keep, row, a, b in self._rows(u, x, y):
            p = self._softmax(row)
            n = p.size
            for k, m, o in itertools.product(range(n), repeat=3):
                outer = ((k == m) - p[m]) * ((k == o) - p[o]) - p[m] * ((m == o) - p[o])
                result[i, keep[k]] += p[k] * outer * a[m] * b[o]
        return result


def decomposition(f, row_levels, column_levels, operator, valid):
    """All forms, the exact sum and the energies of both, as a dictionary."""
    valid = np.asarray(valid)
    means = all_averages(f, valid, row_levels, column_levels)
    n_rows, n_columns = len(row_levels) - 1, len(column_levels) - 1
    shape = np.asarray(f).shape
    pairs, differences = np.zeros(shape), np.zeros(shape)
    pair_energy, difference_energy = np.zeros((n_rows, n_columns)), np.zeros((n_rows, n_columns))
    for level in range(n_rows):
        for scale in range(n_columns):
            u = means[level][scale]
            x = means[level + 1][scale] - u
            y = means[level][scale + 1] - u
            w = means[level + 1][scale + 1] - u - x - y
            term = operator.first(u, w) + operator.second(u, x, y)
            difference = operator(u + x + y + w) - operator(u + x) - operator(u + y) + operator(u)
            pairs += term
            differences += difference
            pair_energy[level, scale] = (term**2).sum()
            difference_energy[level, scale] = (difference**2).sum()
    mean = operator(means[0][0])
    rows = sum(
        (
            operator.first(means[level][n_columns], means[level + 1][n_columns] - means[level][n_columns])
            for level in range(n_rows)
        ),
        start=np.zeros(shape),
    )
    columns = sum(
        (
            operator.first(means[n_rows][scale], means[n_rows][scale + 1] - means[n_rows][scale])
            for scale in range(n_columns)
        ),
        start=np.zeros(shape),
    )
    row_boundary = operator(means[n_rows][0]) - mean
    column_boundary = operator(means[0][n_columns]) - mean
    row_marginal = row_boundary - sum(
        (operator.first(means[level][0], means[level + 1][0] - means[level][0]) for level in range(n_rows)),
        start=np.zeros(shape),
    )
    column_marginal = column_boundary - sum(
        (
            operator.first(means[0][scale], means[0][scale + 1] - means[0][scale])
            for scale in range(n_columns)
        ),
        start=np.zeros(shape),
    )
    corrected = mean + rows + columns - pairs
    return {
        "paper": pairs,
        "paper+boundary": mean + row_boundary + column_boundary + pairs,
        "corrected": corrected,
        "corrected+marginals": corrected + row_marginal + column_marginal,
        "exact": mean + row_boundary + column_boundary + differences,
        "differences": differences,
        "pair energy": pair_energy,
        "difference energy": difference_energy,
    }


def explained(target, form, valid):
    """Share of the density's square distance from 1 that a form explains."""
    target, form = np.asarray(target)[valid], np.asarray(form)[valid]
    return 1 - math.fsum((target - form) ** 2) / math.fsum((target - 1) ** 2)


def affine_r2(target, form):
    """R squared of a straight line through (form, target)."""
    line = np.polynomial.polynomial.polyfit(form, target, 1)
    left = target - line[0] - line[1] * form
    return 1 - math.fsum(left**2) / math.fsum((target - target.mean()) ** 2)
