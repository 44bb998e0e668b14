import numpy as np
import pytest

import haarbor as hb
from haarbor.spectral._affinity import _median_of_all
from tests.assertions import assert_close
from tests.reference import affinity as reference
from tests.samples import causal_probabilities


def with_zeros(rng, shape, share=0.3):
    return rng.normal(size=shape) * (rng.random(shape) > share)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_cosine_matches_the_reference_under_a_causal_mask(rng, axis, dtype):
    X = causal_probabilities(rng, 7, 4, dtype)
    assert_close(hb.cosine_affinity(X, axis), reference.cosine_affinity(reference.unfolded(X, axis)))


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (5, 3), (6, 4, 3), (3, 2, 4, 2), (6,)])
def test_cosine_matches_the_reference_with_scattered_zeros(rng, shape):
    for axis in range(len(shape)):
        X = with_zeros(rng, shape)
        # No slice without any entry: what those get is a convention, tested below.
        np.moveaxis(X, axis, 0)[(slice(None), *[0] * (X.ndim - 1))] = 0.5 + np.arange(shape[axis])
        assert_close(hb.cosine_affinity(X, axis), reference.cosine_affinity(reference.unfolded(X, axis)))


def test_cosine_with_nothing_missing_is_the_ordinary_cosine(rng):
    X = rng.normal(size=(6, 9))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert_close(hb.cosine_affinity(X), np.maximum(unit @ unit.T, 0))


def test_cosine_compares_over_common_entries_only():
    # Slices share one entry, where both are 2: alike, whatever stands beside it.
    X = [[2.0, 0.0, 7.0], [2.0, 9.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 3.0, 0.0]]
    expected = [[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1]]
    assert_close(hb.cosine_affinity(X), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nan_counts_as_missing_in_the_cosine(rng, dtype):
    X = rng.normal(size=(5, 6, 2)).astype(dtype)
    X[rng.random(X.shape) < 0.2] = np.nan
    assert_close(hb.cosine_affinity(X, 1), reference.cosine_affinity(reference.unfolded(X, 1)))
    assert_close(hb.cosine_affinity(X), hb.cosine_affinity(np.nan_to_num(X)))


def test_cosine_over_many_blocks_is_one_sum(rng):
    # More than 4 MB a slice block, so several blocks are added, some with uniform presence, some not.
    X = rng.normal(size=(12, 90, 600))
    X[:, 40:, :] *= rng.random((12, 50, 600)) > 0.5
    X[3, :40] = 0
    flat = X.reshape(12, -1)
    present = (flat != 0).astype(float)
    norms = (flat**2) @ present.T
    expected = np.maximum(flat @ flat.T / np.sqrt(norms * norms.T), 0)
    for threads in (1, 3):
        assert_close(hb.cosine_affinity(X, threads=threads), expected)


def test_empty_slices_are_alike_among_themselves_and_the_reader_is_told(rng):
    X = rng.uniform(0.1, 1, size=(5, 4))
    X[[1, 3]] = 0
    with pytest.warns(hb.AffinityWarning, match=r"2 of 5 slices hold only zeros \(first: 1\)"):
        G = hb.cosine_affinity(X)
    assert G[np.ix_([1, 3], [1, 3])].tolist() == [[1, 1], [1, 1]]
    assert (G[np.ix_([1, 3], [0, 2, 4])] == 0).all()
    assert_close(G[np.ix_([0, 2, 4], [0, 2, 4])], hb.cosine_affinity(X[[0, 2, 4]]))


@pytest.mark.parametrize("affinity", [hb.cosine_affinity, hb.gaussian_affinity])
def test_affinities_are_symmetric_with_ones_on_the_diagonal(rng, affinity):
    G = affinity(with_zeros(rng, (9, 8, 3)), 0)
    assert (G == G.T).all()
    assert_close(np.diagonal(G), np.ones(9))
    assert G.dtype == np.float64
    assert (G >= 0).all()


@pytest.mark.parametrize("affinity", [hb.cosine_affinity, hb.gaussian_affinity])
def test_axes_are_found_by_name_and_by_position(rng, affinity):
    X = rng.normal(size=(4, 5, 3))
    by_place = affinity(X, 2)
    assert (affinity(X, "head") == by_place).all()
    assert (affinity(X, -1) == by_place).all()
    assert (affinity(X, "c", axes=("a", "b", "c")) == by_place).all()


@pytest.mark.parametrize("n_slices", [1, 2, 3, 4, 5, 6, 11])
def test_gaussian_matches_the_reference(rng, n_slices):
    X = rng.normal(size=(n_slices, 3, 4))
    assert_close(hb.gaussian_affinity(X), reference.gaussian_affinity(reference.unfolded(X, 0)))


def test_gaussian_bandwidths_differ_from_slice_to_slice():
    # Places 0, 1, 3: medians of all three distances to each are 1, 1, 2.
    G = hb.gaussian_affinity([[0.0], [1.0], [3.0]])
    assert G[0, 1] == pytest.approx(np.exp(-1), abs=1e-15)
    assert G[0, 2] == pytest.approx((np.exp(-9) + np.exp(-9 / 4)) / 2, abs=1e-15)
    assert G[1, 2] == pytest.approx((np.exp(-4) + np.exp(-1)) / 2, abs=1e-15)


def test_gaussian_bandwidth_of_identical_slices_counts_as_one():
    # Three equal slices and two others: the median of five is 0 for the equal ones.
    X = [[0.0], [0.0], [0.0], [2.0], [5.0]]
    assert_close(hb.gaussian_affinity(X), reference.gaussian_affinity(X))
    assert hb.gaussian_affinity(X)[0, 1] == 1.0


def test_gaussian_over_many_blocks_is_one_sum(rng):
    X = rng.normal(size=(6, 200, 900))
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=(2, 3)))
    width = np.median(np.sort(D, axis=0)[:5], axis=0)
    K = np.exp(-(D**2) / width[None, :] ** 2)
    for threads in (1, 2):
        assert_close(hb.gaussian_affinity(X, threads=threads), (K + K.T) / 2)


def test_distance_affinity_matches_the_reference(rng):
    for n in (1, 2, 3, 6):
        D = np.abs(rng.normal(size=(n, n)))
        D = np.triu(D, 1) + np.triu(D, 1).T
        assert_close(hb.distance_affinity(D), reference.distance_affinity(D.tolist()))


def test_distance_affinity_by_hand():
    # Sorted entries 0 0 2 2: the median is 1.
    assert_close(hb.distance_affinity([[0.0, 2.0], [2.0, 0.0]]), [[1, np.exp(-2)], [np.exp(-2), 1]])


def test_distances_are_symmetric_up_to_rounding():
    hb.distance_affinity([[0.0, 3.0], [3.0 + 1e-14, 0.0]])
    hb.distance_affinity([[0.0, 3e300], [3e300 * (1 + 1e-14), 0.0]])


def test_distances_that_differ_by_rounding_have_an_affinity_that_is_symmetric():
    # Beside 1e20 the others are rounding, and the median is one of them.
    distances = np.array([[0.0, 2.0, 3.0], [1.0, 0.0, 1e20], [3.0, 1e20, 0.0]])
    found = hb.distance_affinity(distances)
    assert_close(found, reference.distance_affinity([[0, 1.5, 3], [1.5, 0, 1e20], [3, 1e20, 0]]))
    np.testing.assert_array_equal(found, found.T)


def test_small_distances_do_not_vanish_beside_the_largest_there_are():
    small, large = 1e-20, 1.7e308
    found = hb.distance_affinity([[0.0, small, 2 * small], [small, 0.0, large], [2 * small, large, 0.0]])
    assert_close(found[0], np.exp([0.0, -1.0, -2.0]))
    assert found[1, 2] == 0


def test_a_zero_median_counts_as_one():
    D = np.zeros((4, 4))
    D[0, 1] = D[1, 0] = 3.0
    assert_close(hb.distance_affinity(D)[0], [1, np.exp(-3), 1, 1])


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        (np.zeros((2, 3)), r"square matrix; found shape \(2, 3\)"),
        (np.zeros((0, 0)), "square matrix"),
        ([0.0, 1.0], "square matrix"),
        ([[0.0, -1.0], [-1.0, 0.0]], "finite and non-negative"),
        ([[0.0, np.nan], [np.nan, 0.0]], "finite and non-negative"),
        ([[0.0, np.inf], [np.inf, 0.0]], r"finite and non-negative; entry \(0, 1\) is inf"),
        ([[0.0, 1.0], [2.0, 0.0]], r"symmetric; entries \(0, 1\) and \(1, 0\) differ by 1.0e\+00. Average"),
        ([[0.0, 1e-300], [2e-300, 0.0]], "symmetric"),
        ([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0 + 1e-6, 1.0, 0.0]], "symmetric"),
    ],
)
def test_what_is_not_a_distance_matrix_is_refused(distances, message):
    with pytest.raises(hb.AffinityError, match=message):
        hb.distance_affinity(distances)


@pytest.mark.parametrize("affinity", [hb.cosine_affinity, hb.gaussian_affinity])
@pytest.mark.parametrize(("axis", "message"), [("layer", "found 'layer'"), (3, "found 3"), (-4, "found -4")])
def test_unknown_axes_are_refused(affinity, axis, message):
    with pytest.raises(hb.AffinityError, match=message):
        affinity(np.ones((2, 3, 4)), axis)


@pytest.mark.parametrize("affinity", [hb.cosine_affinity, hb.gaussian_affinity])
def test_values_that_are_not_finite_are_refused(affinity):
    with pytest.raises(hb.DataError, match=r"found inf at .axis 0 1, axis 1 0"):
        affinity([[1.0, 2.0], [np.inf, 3.0]])


def test_gaussian_refuses_nan():
    with pytest.raises(hb.DataError, match=r"found nan at .query 0, key 1"):
        hb.gaussian_affinity([[1.0, np.nan], [2.0, 3.0]], "query")


@pytest.mark.parametrize("affinity", [hb.cosine_affinity, hb.gaussian_affinity])
@pytest.mark.parametrize("threads", [0, -1])
def test_a_bad_number_of_threads_is_refused(affinity, threads):
    with pytest.raises(hb.SettingError, match="threads must be"):
        affinity(np.ones((2, 2)), threads=threads)


@pytest.mark.parametrize("power", [-90, -30, 30, 90])
def test_affinities_do_not_depend_on_the_scale_of_the_data(rng, power):
    X = rng.uniform(0.1, 1, size=(6, 5))
    scale = 2.0**power
    assert_close(hb.cosine_affinity(scale * X), hb.cosine_affinity(X))
    assert_close(hb.gaussian_affinity(scale * X), hb.gaussian_affinity(X))


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 7, 20, 33])
@pytest.mark.parametrize("kind", ["distinct", "tied", "mostly zero", "diagonal"])
def test_the_median_of_a_symmetric_matrix_is_that_of_all_its_entries(rng, n_items, kind):
    matrix = rng.random((n_items, n_items))
    if kind == "tied":
        matrix = np.round(3 * matrix)
    if kind == "mostly zero":
        matrix *= matrix > 0.9
    matrix = matrix + matrix.T
    if kind != "diagonal":
        np.fill_diagonal(matrix, 0.0)
    assert _median_of_all(matrix) == np.median(matrix)
