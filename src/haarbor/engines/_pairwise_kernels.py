"""Compiled sums over pairs of rows: absolute differences and products.

One pass reads four rows against four rows, so that each value loaded serves four sums that stay
in registers. Rows may begin or end in zeros (attention under a causal mask does): between two
groups of rows only the range where both can be non-zero is summed, and what lies outside comes
from running sums. Inputs are not checked; all values must be finite.
"""

from typing import Any, NamedTuple

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.compiled import compiled

__all__ = ["Reaches", "add_l1", "add_l1_rows", "add_products", "reaches"]

# Inputs are finite, and the compiler may choose the order of summation within a section: it depends
# on the machine, but never on the number of threads.
_FAST = {"reassoc", "nsz", "nnan", "ninf", "contract"}


# Extents are rounded outwards to multiples of this many columns, so that sums run over whole vector
# registers and few running sums are kept.
_GRAIN = 16


@compiled(inner=True)
def _extents(rows, begin, end, starts, stops):
    """First and one past the last non-zero column of each row, relative to `begin`, in grains.

    A row of zeros has both at 0. The last grain may reach beyond `end`.
    """
    n_rows = rows.shape[0]
    for row in range(n_rows):
        values = rows[row, begin:end]
        n_values = values.size
        stop = n_values
        while stop > 0 and values[stop - 1] == 0:
            stop -= 1
        start = 0
        while start < stop and values[start] == 0:
            start += 1
        starts[row] = start // _GRAIN
        stops[row] = (stop + _GRAIN - 1) // _GRAIN


@compiled(inner=True)
def _group_extents(starts, stops, n_groups, group_starts, group_stops):
    """Widest extents in each group of four rows; a group of zero rows has stop 0."""
    n_rows = starts.size
    for group in range(n_groups):
        start, stop = np.int64(1 << 62), 0
        for row in range(4 * group, min(4 * group + 4, n_rows)):
            if stops[row] > 0:
                start = min(start, starts[row])
                stop = max(stop, stops[row])
        group_starts[group] = min(start, stop)
        group_stops[group] = stop


@compiled(fastmath=_FAST, inner=True)
def _running_sums(rows, begin, end, sums):
    """sums[i, g] = sum of |rows[i, begin:begin + g grains]|."""
    for row in range(rows.shape[0]):
        values = rows[row, begin:end]
        total = 0.0
        sums[row, 0] = 0.0
        n_grains = (values.size + _GRAIN - 1) // _GRAIN
        for grain in range(n_grains):
            part = values[grain * _GRAIN : min((grain + 1) * _GRAIN, values.size)]
            partial = 0.0
            for f in range(part.size):
                partial += abs(part[f])
            total += partial
            sums[row, grain + 1] = total


@compiled(fastmath=_FAST, inner=True)
def _tile_l1(a0, a1, a2, a3, b0, b1, b2, b3, begin, end, tile):
    zero = a0.dtype.type(0)
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
    # Numbers without a sign: an index that could be negative would be checked at every step.
    for f in range(np.uint64(begin), np.uint64(end)):
        x0, x1, x2, x3 = a0[f], a1[f], a2[f], a3[f]
        y0, y1, y2, y3 = b0[f], b1[f], b2[f], b3[f]
        s00 += abs(x0 - y0)
        s01 += abs(x0 - y1)
        s02 += abs(x0 - y2)
        s03 += abs(x0 - y3)
        s10 += abs(x1 - y0)
        s11 += abs(x1 - y1)
        s12 += abs(x1 - y2)
        s13 += abs(x1 - y3)
        s20 += abs(x2 - y0)
        s21 += abs(x2 - y1)
        s22 += abs(x2 - y2)
        s23 += abs(x2 - y3)
        s30 += abs(x3 - y0)
        s31 += abs(x3 - y1)
        s32 += abs(x3 - y2)
        s33 += abs(x3 - y3)
    tile[0, 0], tile[0, 1], tile[0, 2], tile[0, 3] = s00, s01, s02, s03
    tile[1, 0], tile[1, 1], tile[1, 2], tile[1, 3] = s10, s11, s12, s13
    tile[2, 0], tile[2, 1], tile[2, 2], tile[2, 3] = s20, s21, s22, s23
    tile[3, 0], tile[3, 1], tile[3, 2], tile[3, 3] = s30, s31, s32, s33


@compiled(fastmath=_FAST, inner=True)
def _tile_products(a0, a1, a2, a3, b0, b1, b2, b3, begin, end, tile):
    zero = a0.dtype.type(0)
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
    # Numbers without a sign: an index that could be negative would be checked at every step.
    for f in range(np.uint64(begin), np.uint64(end)):
        x0, x1, x2, x3 = a0[f], a1[f], a2[f], a3[f]
        y0, y1, y2, y3 = b0[f], b1[f], b2[f], b3[f]
        s00 += x0 * y0
        s01 += x0 * y1
        s02 += x0 * y2
        s03 += x0 * y3
        s10 += x1 * y0
        s11 += x1 * y1
        s12 += x1 * y2
        s13 += x1 * y3
        s20 += x2 * y0
        s21 += x2 * y1
        s22 += x2 * y2
        s23 += x2 * y3
        s30 += x3 * y0
        s31 += x3 * y1
        s32 += x3 * y2
        s33 += x3 * y3
    tile[0, 0], tile[0, 1], tile[0, 2], tile[0, 3] = s00, s01, s02, s03
    tile[1, 0], tile[1, 1], tile[1, 2], tile[1, 3] = s10, s11, s12, s13
    tile[2, 0], tile[2, 1], tile[2, 2], tile[2, 3] = s20, s21, s22, s23
    tile[3, 0], tile[3, 1], tile[3, 2], tile[3, 3] = s30, s31, s32, s33


@compiled(inner=True)
def _ragged(starts, stops):
    """Whether the sums outside the common range are needed: some rows reach further than others."""
    for row in range(starts.size):
        if starts[row] != starts[0] or stops[row] != stops[0]:
            return True
    return False


def add_l1(rows: FloatArray, section_ends: IntArray, out: FloatArray, stop: Any) -> None:
    """out[s, i, j] += sum over section s of |rows[i] - rows[j]|, for i <= j (more may be written).

    Ends early, its sums unfinished, when another thread sets stop[0] to anything but 0.
    """
    begin = 0
    for section, end in enumerate(section_ends.tolist()):
        add_l1_rows(rows, begin, end, reaches(rows, begin, end), (0, rows.shape[0]), out[section], stop)
        begin = end


class Reaches(NamedTuple):
    """How far the rows of a section reach, and their running sums where they do not reach equally far."""

    extents: IntArray
    """First grain, one past the last grain, and the same for groups of four rows; shape (4, n_rows)."""
    sums: FloatArray
    """Running sums of each row, grain by grain; of no rows if all reach equally far."""


def reaches(rows: FloatArray, begin: int, end: int) -> Reaches:
    """What `add_l1_rows` needs to know of the columns from `begin` to `end`."""
    # Memory comes from Python: a kernel that takes its own is compiled much longer.
    extents = np.zeros((4, rows.shape[0]), np.int64)
    sums = np.zeros((rows.shape[0], (end - begin) // _GRAIN + 2))
    ragged = reaches_kernel(rows, begin, end, extents, sums)
    return Reaches(extents, sums if ragged else sums[:0])


def add_l1_rows(
    rows: FloatArray, begin: int, end: int, reach: Reaches, part: tuple[int, int], out: FloatArray, stop: Any
) -> None:
    """out[i, j] += sum of |rows[i] - rows[j]| over the columns from `begin` to `end`, for i <= j.

    Only for i in the given part of the rows, which begins at a multiple of four. Nothing is written to other
    rows of `out`, so several threads can do a part each.
    """
    l1_kernel(rows, begin, end, reach.extents, np.zeros((4, 4)), reach.sums, *part, out, stop)


@compiled()
def reaches_kernel(rows, begin, end, extents, sums):
    """Fill what `Reaches` says; whether some rows reach further than others. If not, no sums are made."""
    _extents(rows, begin, end, extents[0], extents[1])
    _group_extents(extents[0], extents[1], (rows.shape[0] + 3) // 4, extents[2], extents[3])
    ragged = _ragged(extents[0], extents[1])
    if ragged:
        _running_sums(rows, begin, end, sums)
    return ragged


@compiled()
def l1_kernel(rows, begin, end, extents, tile, sums, first, past, out, stop):
    """What `add_l1_rows` says, with memory to work in."""
    n_rows = rows.shape[0]
    n_groups = (n_rows + 3) // 4
    last = n_rows - 1
    group_starts, group_stops = extents[2], extents[3]
    ragged = sums.shape[0] > 0
    n_grains = (end - begin + _GRAIN - 1) // _GRAIN
    for p in range(first // 4, (past + 3) // 4):
        if stop[0] != 0:
            return
        i = 4 * p
        a0, a1 = rows[i], rows[min(i + 1, last)]
        a2, a3 = rows[min(i + 2, last)], rows[min(i + 3, last)]
        for q in range(p, n_groups):
            j = 4 * q
            b0, b1 = rows[j], rows[min(j + 1, last)]
            b2, b3 = rows[min(j + 2, last)], rows[min(j + 3, last)]
            lo = max(group_starts[p], group_starts[q])
            hi = max(lo, min(group_stops[p], group_stops[q]))
            left, right = begin + lo * _GRAIN, min(begin + hi * _GRAIN, end)
            _tile_l1(a0, a1, a2, a3, b0, b1, b2, b3, left, max(left, right), tile)
            for a in range(min(4, n_rows - i)):
                for c in range(min(4, n_rows - j)):
                    value = tile[a, c]
                    # Outside lo:hi one of the two rows is zero, so the difference is the other.
                    if ragged:
                        mine, yours = sums[i + a], sums[j + c]
                        value += mine[lo] + (mine[n_grains] - mine[hi])
                        value += yours[lo] + (yours[n_grains] - yours[hi])
                    out[i + a, j + c] += value


def add_products(left: FloatArray, right: FloatArray, symmetric: bool, out: FloatArray) -> None:
    """out[i, j] += sum over columns of left[i] * right[j]; only i <= j is promised if `symmetric`."""
    extents = np.zeros((2, 4, max(left.shape[0], right.shape[0])), np.int64)
    products_kernel(left, right, symmetric, extents, np.zeros((4, 4)), out)


@compiled()
def products_kernel(left, right, symmetric, extents, tile, out):
    """What `add_products` says, with memory to work in."""
    n_left, n_right = left.shape[0], right.shape[0]
    n_columns = left.shape[1]
    last_left, last_right = n_left - 1, n_right - 1
    n_left_groups, n_right_groups = (n_left + 3) // 4, (n_right + 3) // 4
    first, second = extents[0], extents[1]
    p_starts, p_stops, q_starts, q_stops = first[2], first[3], second[2], second[3]
    _extents(left, np.int64(0), n_columns, first[0], first[1])
    _extents(right, np.int64(0), n_columns, second[0], second[1])
    _group_extents(first[0][:n_left], first[1], n_left_groups, p_starts, p_stops)
    _group_extents(second[0][:n_right], second[1], n_right_groups, q_starts, q_stops)
    for p in range(n_left_groups):
        i = 4 * p
        a0, a1 = left[i], left[min(i + 1, last_left)]
        a2, a3 = left[min(i + 2, last_left)], left[min(i + 3, last_left)]
        for q in range(p if symmetric else 0, n_right_groups):
            j = 4 * q
            lo = max(p_starts[p], q_starts[q])
            hi = min(p_stops[p], q_stops[q])
            if hi <= lo:
                continue
            b0, b1 = right[j], right[min(j + 1, last_right)]
            b2, b3 = right[min(j + 2, last_right)], right[min(j + 3, last_right)]
            begin, end = lo * _GRAIN, min(hi * _GRAIN, n_columns)
            _tile_products(a0, a1, a2, a3, b0, b1, b2, b3, begin, end, tile)
            for a in range(min(4, n_left - i)):
                for c in range(min(4, n_right - j)):
                    out[i + a, j + c] += tile[a, c]
