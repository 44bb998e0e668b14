"""Compiled sums over pairs of rows: absolute differences and products.

One pass reads four rows against four rows, so that each value loaded serves four sums that stay
in registers. Rows may begin or end in zeros (attention under a causal mask does): between two
groups of rows only the range where both can be non-zero is summed, and what lies outside comes
from running sums. Inputs are not checked; all values must be finite.
"""

import numpy as np

from haarbor.compiled import compiled

__all__ = ["add_l1", "add_products"]

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
def _group_extents(starts, stops, group_starts, group_stops):
    """Widest extents in each group of four rows; a group of zero rows has stop 0."""
    n_rows = starts.size
    for group in range(group_starts.size):
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
def _tile_l1(a0, a1, a2, a3, b0, b1, b2, b3, tile):
    zero = a0.dtype.type(0)
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
    for f in range(a0.size):
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
def _tile_products(a0, a1, a2, a3, b0, b1, b2, b3, tile):
    zero = a0.dtype.type(0)
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = zero
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = zero
    for f in range(a0.size):
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


@compiled()
def add_l1(rows, section_ends, out, stop):
    """out[s, i, j] += sum over section s of |rows[i] - rows[j]|, for i <= j (more may be written).

    Ends early, its sums unfinished, when another thread sets stop[0] to anything but 0.
    """
    n_rows = rows.shape[0]
    n_groups = (n_rows + 3) // 4
    last = n_rows - 1
    starts = np.empty(n_rows, np.int64)
    stops = np.empty(n_rows, np.int64)
    group_starts = np.empty(n_groups, np.int64)
    group_stops = np.empty(n_groups, np.int64)
    tile = np.zeros((4, 4), np.float64)
    widest = 0
    for section in range(section_ends.size):
        before = section_ends[section - 1] if section > 0 else 0
        widest = max(widest, section_ends[section] - before)
    sums = np.zeros((n_rows, widest // _GRAIN + 2), np.float64)
    for section in range(section_ends.size):
        begin, end = np.int64(section_ends[section - 1] if section > 0 else 0), section_ends[section]
        _extents(rows, begin, end, starts, stops)
        _group_extents(starts, stops, group_starts, group_stops)
        ragged = _ragged(starts, stops)
        if ragged:
            _running_sums(rows, begin, end, sums)
        n_grains = (end - begin + _GRAIN - 1) // _GRAIN
        for p in range(n_groups):
            if stop[0] != 0:
                return
            i = 4 * p
            for q in range(p, n_groups):
                j = 4 * q
                lo = max(group_starts[p], group_starts[q])
                hi = max(lo, min(group_stops[p], group_stops[q]))
                if hi > lo:
                    b, e = begin + lo * _GRAIN, min(begin + hi * _GRAIN, end)
                    _tile_l1(
                        rows[i, b:e], rows[min(i + 1, last), b:e],
                        rows[min(i + 2, last), b:e], rows[min(i + 3, last), b:e],
                        rows[j, b:e], rows[min(j + 1, last), b:e],
                        rows[min(j + 2, last), b:e], rows[min(j + 3, last), b:e], tile,
                    )  # fmt: skip
                else:
                    for a in range(4):
                        for c in range(4):
                            tile[a, c] = 0.0
                for a in range(min(4, n_rows - i)):
                    for c in range(min(4, n_rows - j)):
                        value = tile[a, c]
                        # Outside lo:hi one of the two rows is zero, so the difference is the other.
                        if ragged:
                            mine, yours = sums[i + a], sums[j + c]
                            value += mine[lo] + (mine[n_grains] - mine[hi])
                            value += yours[lo] + (yours[n_grains] - yours[hi])
                        out[section, i + a, j + c] += value


@compiled()
def add_products(left, right, symmetric, out):
    """out[i, j] += sum over columns of left[i] * right[j]; only i <= j is promised if `symmetric`."""
    n_left, n_right = left.shape[0], right.shape[0]
    n_columns = left.shape[1]
    last_left, last_right = n_left - 1, n_right - 1
    left_starts = np.empty(n_left, np.int64)
    left_stops = np.empty(n_left, np.int64)
    right_starts = np.empty(n_right, np.int64)
    right_stops = np.empty(n_right, np.int64)
    _extents(left, np.int64(0), n_columns, left_starts, left_stops)
    _extents(right, np.int64(0), n_columns, right_starts, right_stops)
    p_starts = np.empty((n_left + 3) // 4, np.int64)
    p_stops = np.empty((n_left + 3) // 4, np.int64)
    q_starts = np.empty((n_right + 3) // 4, np.int64)
    q_stops = np.empty((n_right + 3) // 4, np.int64)
    _group_extents(left_starts, left_stops, p_starts, p_stops)
    _group_extents(right_starts, right_stops, q_starts, q_stops)
    tile = np.zeros((4, 4), np.float64)
    for p in range(p_starts.size):
        i = 4 * p
        for q in range(p if symmetric else 0, q_starts.size):
            j = 4 * q
            lo = max(p_starts[p], q_starts[q])
            hi = min(p_stops[p], q_stops[q])
            if hi <= lo:
                continue
            b, e = lo * _GRAIN, min(hi * _GRAIN, n_columns)
            _tile_products(
                left[i, b:e], left[min(i + 1, last_left), b:e],
                left[min(i + 2, last_left), b:e], left[min(i + 3, last_left), b:e],
                right[j, b:e], right[min(j + 1, last_right), b:e],
                right[min(j + 2, last_right), b:e], right[min(j + 3, last_right), b:e], tile,
            )  # fmt: skip
            for a in range(min(4, n_left - i)):
                for c in range(min(4, n_right - j)):
                    out[i + a, j + c] += tile[a, c]
