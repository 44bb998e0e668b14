import numpy as np
import pytest

from haarbor.engines._pairwise_kernels import add_l1, add_products
from tests.assertions import assert_close

DTYPES = [np.float64, np.float32]
GO_ON = np.zeros(1, np.uint8)


def ragged_rows(rng, n_rows, width, dtype, pattern):
    """Rows that begin and end in zeros, or are zero throughout."""
    rows = rng.normal(size=(n_rows, width)).astype(dtype)
    for row in range(n_rows):
        if pattern in ("end", "both"):
            rows[row, rng.integers(0, width + 1) :] = 0
        if pattern in ("start", "both"):
            rows[row, : rng.integers(0, width + 1)] = 0
    if pattern == "both" and n_rows > 2:
        rows[rng.integers(0, n_rows)] = 0
    if pattern == "zero":
        rows[:] = 0
    return rows


def plain_l1(rows, ends):
    sections = np.split(rows.astype(np.float64), ends[:-1], axis=1)
    return np.stack([np.abs(s[:, None, :] - s[None, :, :]).sum(axis=2) for s in sections])


def assert_upper_close(actual, expected, dtype):
    upper = np.triu_indices(expected.shape[-1])
    assert_close(actual[..., upper[0], upper[1]], expected[..., upper[0], upper[1]], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pattern", ["none", "start", "end", "both", "zero"])
@pytest.mark.parametrize("n_rows", range(1, 10))
def test_l1_sums_equal_the_plain_sum(rng, n_rows, pattern, dtype):
    for width in (1, 2, 15, 16, 17, 31, 33, 80, 131):
        rows = ragged_rows(rng, n_rows, width, dtype, pattern)
        ends = np.array([width])
        out = np.zeros((1, n_rows, n_rows))
        add_l1(rows, ends, out, GO_ON)
        assert_upper_close(out, plain_l1(rows, ends), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pattern", ["none", "start", "end", "both"])
def test_l1_sections_are_summed_apart(rng, pattern, dtype):
    for n_rows in (1, 4, 5, 9, 14):
        rows = ragged_rows(rng, n_rows, 101, dtype, pattern)
        ends = np.array([1, 33, 64, 101])
        out = np.zeros((4, n_rows, n_rows))
        add_l1(rows, ends, out, GO_ON)
        assert_upper_close(out, plain_l1(rows, ends), dtype)


def test_rows_without_a_common_column_differ_by_both_their_sums():
    rows = np.zeros((8, 64))
    rows[:4, :20] = 1.0
    rows[4:, 40:] = 2.0
    out = np.zeros((1, 8, 8))
    add_l1(rows, np.array([64]), out, GO_ON)
    assert out[0, 0, 7] == 20 + 48
    assert out[0, 0, 3] == out[0, 4, 7] == 0


def test_single_non_zero_columns_at_every_place_are_seen():
    # Extents in grains of 16: an error of one at either end shows for some place.
    for place in range(50):
        rows = np.zeros((9, 50))
        rows[2, place] = 3.0
        rows[7, 49 - place] = 5.0
        out = np.zeros((1, 9, 9))
        add_l1(rows, np.array([50]), out, GO_ON)
        assert_upper_close(out, plain_l1(rows, np.array([50])), np.float64)


def test_l1_is_added_to_what_is_there(rng):
    rows = rng.normal(size=(5, 20))
    out = np.full((1, 5, 5), 7.0)
    add_l1(rows, np.array([20]), out, GO_ON)
    assert_upper_close(out, 7.0 + plain_l1(rows, np.array([20])), np.float64)


def test_equal_rows_are_at_distance_zero_exactly(rng):
    rows = rng.normal(size=(11, 77))
    rows[:, 50:] = 0
    rows[9] = rows[1]
    rows[4, 3:] = 0
    out = np.zeros((1, 11, 11))
    add_l1(rows, np.array([77]), out, GO_ON)
    assert out[0, 1, 9] == 0


def test_sums_that_are_told_to_stop_are_not_made(rng):
    out = np.zeros((1, 9, 9))
    add_l1(rng.normal(size=(9, 20)), np.array([20]), out, np.ones(1, np.uint8))
    assert (out == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pattern", ["none", "start", "end", "both", "zero"])
def test_products_equal_the_plain_sum(rng, pattern, dtype):
    for n_left, n_right in [(1, 1), (2, 7), (4, 4), (9, 5), (13, 13)]:
        for width in (1, 16, 17, 45, 96):
            left = ragged_rows(rng, n_left, width, dtype, pattern)
            right = ragged_rows(rng, n_right, width, dtype, pattern)
            out = np.zeros((n_left, n_right))
            add_products(left, right, False, out)
            assert_close(out, left.astype(float) @ right.astype(float).T, dtype)


def test_symmetric_products_fill_the_upper_triangle(rng):
    rows = ragged_rows(rng, 10, 70, np.float64, "both")
    out = np.zeros((10, 10))
    add_products(rows, rows, True, out)
    assert_upper_close(out, rows @ rows.T, np.float64)
