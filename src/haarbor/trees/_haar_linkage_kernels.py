"""Compiled steps of trees that minimise the l1 norm of a Haar expansion. Inputs are not checked.

Folders are numbered: items first, then each join. `means` has one row per folder.
"""

import numpy as np

from haarbor.compiled import compiled

__all__ = [
    "first_nearest",
    "haar_joins",
    "join_places",
    "rotation_sums",
    "take_distances",
    "wanted_pairs",
]

# As in the sums of the engines: values are finite, and the order of summation within a block is free.
_FAST = {"reassoc", "nsz", "nnan", "ninf", "contract"}
# Columns summed in the type of the data before they are added in float64.
_BLOCK = 512


@compiled(fastmath=_FAST, inner=True)
def _l1(a, b):
    total = 0.0
    for begin in range(0, a.size, _BLOCK):
        x, y = a[begin : begin + _BLOCK], b[begin : begin + _BLOCK]
        part = x.dtype.type(0)
        for f in range(x.size):
            part += abs(x[f] - y[f])
        total += part
    return total


@compiled(fastmath=_FAST, inner=True)
def _write_mean(a, b, share, out):
    mine = out.dtype.type(share)
    yours = out.dtype.type(1.0 - share)
    for f in range(out.size):
        out[f] = mine * a[f] + yours * b[f]


@compiled(inner=True)
def _nearest(cost, size, row):
    """Column after `row` with the least entry; of equals the smallest folder, then the first; or -1."""
    found = -1
    for column in range(row + 1, cost.shape[0]):
        if size[column] == 0:
            continue
        if found < 0:
            found = column
            continue
        mine, best = cost[row, column], cost[row, found]
        if mine < best or (mine == best and size[column] < size[found]):
            found = column
    return found


@compiled(inner=True)
def _least_row(cost, size, nearest):
    """Row whose pair with its nearest column comes first: least term, then fewest items, then place."""
    found = -1
    for row in range(nearest.size):
        if size[row] > 0 and nearest[row] >= 0:
            if found < 0:
                found = row
                continue
            mine, best = cost[row, nearest[row]], cost[found, nearest[found]]
            fewer = size[row] + size[nearest[row]] < size[found] + size[nearest[found]]
            if mine < best or (mine == best and fewer):
                found = row
    return found


@compiled(inner=True)
def _bound_terms(cost, exact, size, nearest, i, j, slack):
    """Join place `j` into place `i`: bound the terms of the new folder, and find what is nearest now."""
    n = cost.shape[0]
    a, b = size[i], size[j]
    apart = cost[i, j] / np.sqrt(a * b / (a + b))
    size[j] = 0
    for other in range(n):
        c = size[other]
        if c == 0 or other == i:
            continue
        low, high = min(i, other), max(i, other)
        mine = cost[low, high] / np.sqrt(a * c / (a + c))
        yours = cost[min(j, other), max(j, other)] / np.sqrt(b * c / (b + c))
        bound = max(mine - apart * b / (a + b), yours - apart * a / (a + b))
        bound = max(0.0, bound - slack * (mine + yours + apart))
        cost[low, high] = bound * np.sqrt((a + b) * c / (a + b + c))
        exact[low, high] = False
    size[i] = a + b
    nearest[i] = _nearest(cost, size, i)
    for row in range(j):
        if size[row] == 0 or row == i:
            continue
        near = nearest[row]
        if near in (i, j) or (row < i and cost[row, i] <= cost[row, near]):
            nearest[row] = _nearest(cost, size, row)


@compiled()
def haar_joins(means, cost, slack, joins, terms, stop):
    """Join, again and again, the two folders with the least term sqrt(ab/(a+b)) |mean - mean|_1.

    `cost` (n, n) holds the terms of all pairs of items above its diagonal, and is overwritten. A join
    takes the smaller of the two places. Its terms with the other folders are first bounded from below by
    the triangle inequality, less `slack` of what is summed, and computed when the bound is the least of
    all: so the joins are the same as if all were computed. Of equal terms the pair with the fewest items
    comes first, then the first pair. Writes `joins` (n - 1, 2), the joined folders; `terms` (n - 1,); and
    the rows of `means` from n on. Returns how many terms were computed; ends early when another thread
    sets stop[0].
    """
    n = cost.shape[0]
    folder = np.arange(n)
    size = np.ones(n)
    exact = np.ones((n, n), np.bool_)
    nearest = np.empty(n, np.int64)
    for row in range(n):
        nearest[row] = _nearest(cost, size, row)
    computed = 0
    for step in range(n - 1):
        while True:
            if stop[0] != 0:
                return computed
            i = _least_row(cost, size, nearest)
            j = nearest[i]
            if exact[i, j]:
                break
            weight = np.sqrt(size[i] * size[j] / (size[i] + size[j]))
            cost[i, j] = weight * _l1(means[folder[i]], means[folder[j]])
            exact[i, j] = True
            nearest[i] = _nearest(cost, size, i)
            computed += 1
        a, b = size[i], size[j]
        joins[step, 0], joins[step, 1] = folder[i], folder[j]
        terms[step] = cost[i, j]
        _write_mean(means[folder[i]], means[folder[j]], a / (a + b), means[n + step])
        folder[i] = n + step
        _bound_terms(cost, exact, size, nearest, i, j, slack)
    return computed


@compiled()
def first_nearest(cost, size, nearest):
    """Nearest later folder of each, before the first join."""
    for row in range(nearest.size):
        nearest[row] = _nearest(cost, size, row)


@compiled()
def wanted_pairs(cost, exact, size, nearest, pairs):
    """Write the pair with the least term first into `pairs`; how many terms must be computed before it joins.

    These are that of the pair itself, unless it is known, and those of other pairs that may be next: each the
    nearest of a row and at most a tenth above. Which are computed does not change what joins.
    """
    i = _least_row(cost, size, nearest)
    pairs[0, 0], pairs[0, 1] = i, nearest[i]
    if exact[i, nearest[i]]:
        return 0
    count = 1
    limit = 1.1 * cost[i, nearest[i]]
    for row in range(nearest.size):
        near = nearest[row]
        if count == pairs.shape[0]:
            break
        if row == i or size[row] == 0 or near < 0 or exact[row, near] or cost[row, near] > limit:
            continue
        pairs[count, 0], pairs[count, 1] = row, near
        count += 1
    return count


@compiled()
def take_distances(cost, exact, size, nearest, pairs, distances):
    """Turn the L1 distances of pairs of places into terms, which are exact from now on."""
    for place in range(distances.size):
        i, j = pairs[place, 0], pairs[place, 1]
        cost[i, j] = np.sqrt(size[i] * size[j] / (size[i] + size[j])) * distances[place]
        exact[i, j] = True
        nearest[i] = _nearest(cost, size, i)


@compiled()
def join_places(cost, exact, size, nearest, i, j, slack):
    """Join place `j` into place `i`; their term must be exact."""
    _bound_terms(cost, exact, size, nearest, i, j, slack)


@compiled(fastmath=_FAST, inner=True)
def _three_sums(a, b, c, ab, ac, out):
    """|a - b|, |c - mean(a, b)|, |a - c|, |b - mean(a, c)|; `ab` and `ac` are the shares of a."""
    s0 = s1 = s2 = s3 = 0.0
    one = a.dtype.type(1)
    p, q = a.dtype.type(ab), a.dtype.type(ac)
    for begin in range(0, a.size, _BLOCK):
        x, y, z = a[begin : begin + _BLOCK], b[begin : begin + _BLOCK], c[begin : begin + _BLOCK]
        t0 = t1 = t2 = t3 = x.dtype.type(0)
        for f in range(x.size):
            u, v, w = x[f], y[f], z[f]
            t0 += abs(u - v)
            t1 += abs(w - (p * u + (one - p) * v))
            t2 += abs(u - w)
            t3 += abs(v - (q * u + (one - q) * w))
        s0 += t0
        s1 += t1
        s2 += t2
        s3 += t3
    out[0], out[1], out[2], out[3] = s0, s1, s2, s3


@compiled()
def rotation_sums(means, threes, sizes, first, last, sums, stop):
    """L1 sums of both other ways to join three folders, for rows `first` to `last` of `threes`.

    A row of `threes` names the folders A, B and C of a tree with the folders (A, (B, C)). `sums` gets
    |A - B|, |C - AB|, |A - C| and |B - AC|.
    """
    for row in range(first, last):
        if stop[0] != 0:
            return
        a, b, c = threes[row]
        n_a, n_b, n_c = sizes[a], sizes[b], sizes[c]
        _three_sums(means[a], means[b], means[c], n_a / (n_a + n_b), n_a / (n_a + n_c), sums[row])
