"""Compiled sums over pairs of rows and columns that are zero in most rows. Inputs are not checked.

Where one of two numbers is zero, their difference is the other. So the distance of two rows is the sum of
their absolute values, corrected at the columns where both are not zero; these are few.
"""

from typing import Any, NamedTuple

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.compiled import compiled

__all__ = ["Entries", "add_entries_l1", "add_entries_products", "column_counts", "entries"]


class Entries(NamedTuple):
    """The entries of some columns that are not zero, column by column, rows in increasing order."""

    row: IntArray
    value: FloatArray
    column_ends: IntArray
    """Where each column ends among the entries."""
    row_begins: IntArray
    """Row ``i`` has the entries ``place[row_begins[i]:row_begins[i + 1]]``."""
    place: IntArray
    column: IntArray
    """Column of each of these, counted among the chosen ones."""
    sums: FloatArray
    """Sum of the absolute values of each row."""


def column_counts(rows: FloatArray, begin: int, end: int) -> IntArray:
    """In how many rows each column from `begin` to `end` is not zero."""
    # numpy is quick enough, and needs not be compiled before the first result.
    counts: IntArray = np.count_nonzero(rows[:, begin:end], axis=0)
    return counts


def entries(rows: FloatArray, columns: IntArray, counts: IntArray) -> Entries:
    """The entries of `columns` that are not zero; column ``columns[c]`` has ``counts[c]`` of them."""
    n_rows = rows.shape[0]
    ends = np.cumsum(counts)
    n_entries = int(counts.sum())
    found = Entries(
        row=np.empty(n_entries, np.int64),
        value=np.empty(n_entries, rows.dtype),
        column_ends=ends,
        row_begins=np.zeros(n_rows + 1, np.int64),
        place=np.empty(n_entries, np.int64),
        column=np.empty(n_entries, np.int64),
        sums=np.zeros(n_rows),
    )
    entries_of_columns(
        rows, columns, ends - counts, found.row, found.value, found.row_begins, found.place, found.column,
        found.sums,
    )  # fmt: skip
    return found


@compiled()
def entries_of_columns(rows, columns, following, row, value, row_begins, place, column, sums):
    """What `entries` says; `following` is where the next entry of each column goes."""
    n_rows = rows.shape[0]
    k = 0
    for i in range(n_rows):
        for c in range(columns.size):
            x = rows[i, columns[c]]
            if x != 0:
                p = following[c]
                following[c] = p + 1
                row[p], value[p] = i, x
                place[k], column[k] = p, c
                sums[i] += abs(np.float64(x))
                k += 1
        row_begins[i + 1] = k


def add_entries_l1(found: Entries, part: tuple[int, int], out: FloatArray, stop: Any) -> None:
    """out[i, j] += sum of the absolute differences of rows i and j over all entries, for i < j.

    Only for i in the given part of the rows; nothing is written to other rows of `out`.
    """
    entries_l1_kernel(*found, *part, np.zeros(found.sums.size), out, stop)


@compiled()
def entries_l1_kernel(
    row, value, column_ends, row_begins, place, column, sums, first, past, common, out, stop
):  # fmt: skip
    """What `add_entries_l1` says, with memory to work in."""
    n_rows = sums.size
    for i in range(first, past):
        if stop[0] != 0:
            return
        for j in range(i + 1, n_rows):
            common[j] = 0.0
        for k in range(row_begins[i], row_begins[i + 1]):
            p = place[k]
            x = np.float64(value[p])
            for other in range(np.uint64(p + 1), np.uint64(column_ends[column[k]])):
                y = np.float64(value[other])
                # In the order in which `sums` were added: of equal rows nothing is left, to the last bit.
                common[np.uint64(row[other])] += abs(x - y) - abs(x) - abs(y)
        for j in range(i + 1, n_rows):
            out[i, j] += max(0.0, sums[i] + sums[j] + common[j])


def add_entries_products(found: Entries, inner: FloatArray, overlap: FloatArray) -> None:
    """inner[i, j] += <x_i, x_j> for i <= j; overlap[i, j] += <x_i^2, v_j>, v_j being 1 where x_j is not 0."""
    column_begins = np.concatenate([[0], found.column_ends])
    entries_products_kernel(
        found.row, found.value, column_begins, found.row_begins, found.place, found.column, inner, overlap
    )


@compiled()
def entries_products_kernel(row, value, column_begins, row_begins, place, column, inner, overlap):
    """What `add_entries_products` says; row after row, which then stay in cache."""
    for i in range(row_begins.size - 1):
        mine, squares = inner[i], overlap[i]
        for k in range(row_begins[i], row_begins[i + 1]):
            p, c = place[k], column[k]
            x = np.float64(value[p])
            square = x * x
            # Numbers without a sign: an index that could be negative would be checked at every step.
            for other in range(np.uint64(column_begins[c]), np.uint64(column_begins[c + 1])):
                squares[np.uint64(row[other])] += square
            for other in range(np.uint64(p), np.uint64(column_begins[c + 1])):
                mine[np.uint64(row[other])] += x * np.float64(value[other])
