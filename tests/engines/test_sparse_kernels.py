import numpy as np
import pytest

from haarbor.engines._sparse_kernels import add_entries_l1, add_entries_products, column_counts, entries
from tests.assertions import assert_close

GO_ON = np.zeros(1, np.uint8)


def sparse_rows(rng, n_rows, width, dtype=np.float64, share=0.2):
    return (rng.normal(size=(n_rows, width)) * (rng.random((n_rows, width)) < share)).astype(dtype)


def all_entries(rows):
    counts = column_counts(rows, 0, rows.shape[1])
    return entries(rows, np.arange(rows.shape[1]), counts)


def test_entries_by_hand():
    rows = np.array([[0.0, 2.0, 0.0], [5.0, -3.0, 0.0]])
    assert column_counts(rows, 0, 3).tolist() == [1, 2, 0]
    assert column_counts(rows, 1, 2).tolist() == [2]
    found = entries(rows, np.array([0, 1]), np.array([1, 2]))
    assert found.row.tolist() == [1, 0, 1]
    assert found.value.tolist() == [5.0, 2.0, -3.0]
    assert found.column_ends.tolist() == [1, 3]
    assert found.row_begins.tolist() == [0, 1, 3]
    assert found.place.tolist() == [1, 0, 2]
    assert found.column.tolist() == [1, 0, 1]
    assert found.sums.tolist() == [2.0, 8.0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
def test_distances_equal_the_plain_sum(rng, dtype, share):
    rows = sparse_rows(rng, 13, 40, dtype, share)
    out = np.full((13, 13), 0.5)
    add_entries_l1(all_entries(rows), (0, 13), out, GO_ON)
    wide = rows.astype(float)
    upper = np.triu_indices(13, 1)
    assert_close(out[upper], 0.5 + np.abs(wide[:, None] - wide[None]).sum(axis=2)[upper])


def test_a_part_of_the_rows_leaves_the_others_alone(rng):
    rows = sparse_rows(rng, 12, 30)
    whole, parts = np.zeros((12, 12)), np.zeros((12, 12))
    add_entries_l1(all_entries(rows), (0, 12), whole, GO_ON)
    add_entries_l1(all_entries(rows), (4, 8), parts, GO_ON)
    assert not parts[:4].any()
    assert not parts[8:].any()
    assert parts[4:8].tobytes() == whole[4:8].tobytes()
    assert parts[4:8].any()


def test_equal_rows_are_at_distance_zero_to_the_last_bit(rng):
    rows = sparse_rows(rng, 6, 300, share=0.7)
    rows[4] = rows[1]
    out = np.zeros((6, 6))
    add_entries_l1(all_entries(rows), (0, 6), out, GO_ON)
    assert out[1, 4] == 0
    assert (out[np.triu_indices(6, 1)] == 0).sum() == 1


def test_sums_end_early_when_told(rng):
    out = np.zeros((9, 9))
    add_entries_l1(all_entries(sparse_rows(rng, 9, 20, share=1.0)), (0, 9), out, np.ones(1, np.uint8))
    assert not out.any()


@pytest.mark.parametrize("share", [0.1, 0.8])
def test_products_equal_the_plain_ones(rng, share):
    rows = sparse_rows(rng, 11, 25, share=share)
    inner, overlap = np.zeros((11, 11)), np.zeros((11, 11))
    add_entries_products(all_entries(rows), inner, overlap)
    assert_close(np.triu(inner), np.triu(rows @ rows.T))
    assert_close(overlap, rows**2 @ (rows != 0).T.astype(float))
