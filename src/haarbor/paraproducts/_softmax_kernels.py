"""Compiled softmax of folder means, level by level. Inputs are not checked.

Columns are folders of a pruned tree. `members` lists the folders of all its levels, those of level s at
``begins[s]:begins[s + 1]``, carried-down ones included. `above` holds, for each of them, the position in
`members` of its parent on the level before. The maximum is subtracted before every exp.
"""

import numpy as np

from haarbor.compiled import compiled

__all__ = [
    "level_centres",
    "level_differences",
    "level_log_sums",
    "masked_columns",
    "masked_differences",
    "masked_pairs",
    "masked_rows",
]


@compiled()
def level_log_sums(means, sizes, members, begins, first_row, last_row, log_sums):
    """Logarithm of the denominator of the softmax at each level, for some rows."""
    for row in range(first_row, last_row):
        values = means[row]
        for level in range(begins.size - 1):
            largest = -np.inf
            for place in range(begins[level], begins[level + 1]):
                largest = max(largest, values[members[place]])
            total = 0.0
            for place in range(begins[level], begins[level + 1]):
                folder = members[place]
                total += sizes[folder] * np.exp(values[folder] - largest)
            log_sums[row, level] = largest + np.log(total)


@compiled()
def level_centres(means, sizes, row_parents, members, begins, log_sums, first_row, last_row, centres):
    """<p, x> at each level for the steps from parents to some rows."""
    for row in range(max(1, first_row), last_row):
        coarse, fine, sums = means[row_parents[row]], means[row], log_sums[row_parents[row]]
        for level in range(begins.size - 1):
            centre = 0.0
            for place in range(begins[level], begins[level + 1]):
                folder = members[place]
                weight = sizes[folder] * np.exp(coarse[folder] - sums[level])
                centre += weight * (fine[folder] - coarse[folder])
            centres[row, level] = centre


@compiled()
def level_differences(
    means, sizes, row_parents, members, above, begins, log_sums, first_row, last_row, total, squares
):
    """Exact mixed difference of the softmax for the step to each of some rows, summed over the levels."""
    n_levels = begins.size - 1
    coarse, terms = np.empty(members.size), np.empty(members.size)
    for row in range(max(1, first_row), last_row):
        parent = row_parents[row]
        terms[0] = 0.0
        for level in range(n_levels):
            for place in range(begins[level], begins[level + 1]):
                folder = members[place]
                step = np.exp(means[row, folder] - log_sums[row, level])
                step -= np.exp(means[parent, folder] - log_sums[parent, level])
                coarse[place] = step
                if level > 0:
                    term = step - coarse[above[place]]
                    terms[place] = terms[above[place]] + term
                    squares[row, level - 1] += sizes[folder] * term * term
        for place in range(begins[n_levels - 1], begins[n_levels]):
            total[row, place - begins[n_levels - 1]] = terms[place]


@compiled(inner=True)
def _find_open(count, members, begins, places, ends):
    """Positions in `members` of folders with a valid entry; level l is at places[ends[l]:ends[l + 1]]."""
    n_open = 0
    ends[0] = 0
    for level in range(begins.size - 1):
        for place in range(begins[level], begins[level + 1]):
            if count[members[place]] > 0:
                places[n_open] = place
                n_open += 1
        ends[level + 1] = n_open


@compiled(inner=True)
def _softmax(values, count, members, places, weights):
    """Softmax of `values` over the valid entries of one level: the probability of one entry per folder."""
    largest = -np.inf
    for place in places:
        largest = max(largest, values[members[place]])
    total = 0.0
    for place in places:
        folder = members[place]
        weights[place] = np.exp(values[folder] - largest)
        total += count[folder] * weights[place]
    for place in places:
        weights[place] /= total


@compiled(inner=True)
def _add_down(terms, above, begins):
    for place in range(begins[1], begins[-1]):
        terms[place] += terms[above[place]]


@compiled()
def masked_pairs(
    means, counts, row_leaves, row_parents, row_steps, members, above, begins, total, energy, moments
):
    """Sum over scale pairs of J[w] + H[x, y] for every row; their energies; moments of n p."""
    n_levels = begins.size - 1
    weights = np.empty(members.size)
    terms = np.empty(members.size)
    places, ends = np.empty(members.size, dtype=np.int64), np.empty(n_levels + 1, dtype=np.int64)
    for item in range(row_leaves.size):
        count = counts[item]
        if count[0] == 0:
            continue
        # Under a causal mask half of the folders of a row have no valid entry; they are skipped.
        _find_open(count, members, begins, places, ends)
        terms[:] = 0.0
        child = row_leaves[item]
        while child > 0:
            parent = row_parents[child]
            step = row_steps[child]
            coarse, fine = means[parent], means[child]
            for level in range(n_levels - 1):
                here = places[ends[level] : ends[level + 1]]
                below = places[ends[level + 1] : ends[level + 2]]
                _softmax(coarse, count, members, here, weights)
                mean_x = 0.0
                for place in here:
                    folder = members[place]
                    mean_x += count[folder] * weights[place] * (fine[folder] - coarse[folder])
                mean_y, mean_w = 0.0, 0.0
                for place in below:
                    folder, outer = members[place], members[above[place]]
                    if folder != outer:
                        y = coarse[folder] - coarse[outer]
                        share = count[folder] * weights[above[place]]
                        mean_y += share * y
                        mean_w += share * (fine[folder] - fine[outer] - y)
                mean_xy = 0.0
                for place in below:
                    folder, outer = members[place], members[above[place]]
                    x = fine[outer] - coarse[outer] - mean_x
                    y = coarse[folder] - coarse[outer] - mean_y
                    mean_xy += count[folder] * weights[above[place]] * x * y
                squares = 0.0
                for place in below:
                    folder, outer = members[place], members[above[place]]
                    share = weights[above[place]]
                    x = fine[outer] - coarse[outer]
                    y = coarse[folder] - coarse[outer]
                    w = fine[folder] - coarse[folder] - x
                    term = share * (w - mean_w + (x - mean_x) * (y - mean_y) - mean_xy)
                    terms[place] += term
                    squares += count[folder] * term * term
                    if folder != outer:
                        constant = count[0] * share
                        moments[0] += count[folder]
                        moments[1] += count[folder] * constant
                        moments[2] += count[folder] * constant * constant
                energy[step, level] += squares
            child = parent
        _add_down(terms, above, begins)
        for place in places[ends[n_levels - 1] : ends[n_levels]]:
            total[item, place - begins[n_levels - 1]] = terms[place]


@compiled()
def masked_rows(means, counts, row_leaves, row_parents, members, begins, total):
    """Sum over row scales of J[x] at the last column level, for every row."""
    n_levels = begins.size - 1
    first = begins[n_levels - 1]
    weights = np.empty(members.size)
    places, ends = np.empty(members.size, dtype=np.int64), np.empty(n_levels + 1, dtype=np.int64)
    for item in range(row_leaves.size):
        count = counts[item]
        if count[0] == 0:
            continue
        _find_open(count, members, begins, places, ends)
        here = places[ends[n_levels - 1] : ends[n_levels]]
        child = row_leaves[item]
        while child > 0:
            parent = row_parents[child]
            coarse, fine = means[parent], means[child]
            _softmax(coarse, count, members, here, weights)
            mean_x = 0.0
            for place in here:
                folder = members[place]
                mean_x += weights[place] * (fine[folder] - coarse[folder])
            for place in here:
                folder = members[place]
                total[item, place - first] += weights[place] * (fine[folder] - coarse[folder] - mean_x)
            child = parent


@compiled()
def masked_columns(means, counts, rows, members, above, begins, total, last_softmax):
    """Sum over column scales of J[y] for row folder rows[item] with the mask of each item; its softmax."""
    n_levels = begins.size - 1
    first = begins[n_levels - 1]
    weights = np.empty(members.size)
    terms = np.empty(members.size)
    places, ends = np.empty(members.size, dtype=np.int64), np.empty(n_levels + 1, dtype=np.int64)
    for item in range(rows.size):
        count = counts[item]
        if count[0] == 0:
            continue
        _find_open(count, members, begins, places, ends)
        terms[:] = 0.0
        values = means[rows[item]]
        for level in range(n_levels - 1):
            below = places[ends[level + 1] : ends[level + 2]]
            _softmax(values, count, members, places[ends[level] : ends[level + 1]], weights)
            mean_y = 0.0
            for place in below:
                folder, outer = members[place], members[above[place]]
                mean_y += count[folder] * weights[above[place]] * (values[folder] - values[outer])
            for place in below:
                folder, outer = members[place], members[above[place]]
                terms[place] += weights[above[place]] * (values[folder] - values[outer] - mean_y)
        _add_down(terms, above, begins)
        here = places[ends[n_levels - 1] : ends[n_levels]]
        _softmax(values, count, members, here, weights)
        for place in here:
            total[item, place - first] = terms[place]
            last_softmax[item, place - first] = weights[place]


@compiled()
def masked_differences(
    means, counts, row_leaves, row_parents, row_steps, members, above, begins, total, energy
):
    """Sum over scale pairs of the exact mixed difference of the softmax, for every row."""
    n_levels = begins.size - 1
    coarse, fine = np.empty(members.size), np.empty(members.size)
    terms = np.empty(members.size)
    places, ends = np.empty(members.size, dtype=np.int64), np.empty(n_levels + 1, dtype=np.int64)
    for item in range(row_leaves.size):
        count = counts[item]
        if count[0] == 0:
            continue
        _find_open(count, members, begins, places, ends)
        terms[:] = 0.0
        child = row_leaves[item]
        for level in range(n_levels):
            _softmax(means[child], count, members, places[ends[level] : ends[level + 1]], fine)
        while child > 0:
            parent = row_parents[child]
            for level in range(n_levels):
                _softmax(means[parent], count, members, places[ends[level] : ends[level + 1]], coarse)
            for level in range(n_levels - 1):
                squares = 0.0
                for place in places[ends[level + 1] : ends[level + 2]]:
                    outer = above[place]
                    term = fine[place] - fine[outer] - coarse[place] + coarse[outer]
                    terms[place] += term
                    squares += count[members[place]] * term * term
                energy[row_steps[child], level] += squares
            child = parent
            # The upper folder of this step is the lower one of the next.
            coarse, fine = fine, coarse
        _add_down(terms, above, begins)
        for place in places[ends[n_levels - 1] : ends[n_levels]]:
            total[item, place - begins[n_levels - 1]] = terms[place]
