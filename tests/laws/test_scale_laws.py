"""What does not depend on the scale of the data does not, up to the ends of the floating-point range."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import haarbor as hb
from haarbor.paraproducts import row_softmax
from tests.assertions import assert_same_trees
from tests.samples import CHAINED, HALVES, random_tree

TREES = {"query": CHAINED, "key": HALVES}


def extent(X):
    """Powers of two by which X can be multiplied without a loss: finite, and no entry subnormal."""
    limits = np.finfo(X.dtype)
    sizes = np.frexp(np.abs(X[X != 0]))[1]
    return int(limits.minexp + 1 - sizes.min()), int(limits.maxexp - sizes.max())


@st.composite
def tensors(draw, dtype):
    """A tensor of ordinary numbers, and a power of two it can be multiplied by; the ends come often."""
    shape = draw(st.tuples(st.integers(2, 6), st.integers(2, 6), st.integers(2, 5)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = (rng.normal(size=shape) if draw(st.booleans()) else rng.uniform(0.1, 1, size=shape)).astype(dtype)
    least, most = extent(X)
    power = draw(st.one_of(st.sampled_from([least, most]), st.integers(least, most)))
    return X, power


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("initial", ["cosine", "gaussian"])
@settings(max_examples=15)
@given(data=st.data())
def test_trees_do_not_depend_on_the_scale_of_a_tensor(data, dtype, initial):
    X, power = data.draw(tensors(dtype))
    expected = hb.organize(X, initial=initial, n_iterations=2)
    found = hb.organize(np.ldexp(X, power), initial=initial, n_iterations=2)
    assert_same_trees(found.trees, expected.trees)
    for axis in expected.axes:
        assert found.affinities[axis].tobytes() == expected.affinities[axis].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=15)
@given(data=st.data())
def test_masked_logits_are_filled_in_at_any_scale(data, dtype):
    X, power = data.draw(tensors(dtype))
    mask = np.tri(*X.shape[:2], dtype=bool)
    expected = hb.organize(X, mask=mask, content="logits", n_iterations=1)
    found = hb.organize(np.ldexp(X, power), mask=mask, content="logits", n_iterations=1)
    assert_same_trees(found.trees, expected.trees)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=15)
@given(data=st.data())
def test_entropies_but_for_their_unit_do_not_depend_on_the_scale(data, dtype):
    X, power = data.draw(tensors(dtype))
    rng = np.random.default_rng(0)
    trees = {axis: random_tree(rng, n) for axis, n in zip(("query", "key", "head"), X.shape, strict=True)}
    # A little below the end, where the coefficients themselves have room.
    Y = np.ldexp(X, power - 8 if power > 0 else power + 8)
    for entropy in (hb.head_entropy, hb.network_entropy):
        one, two = entropy(X, trees, k=7), entropy(Y, trees, k=7)
        for name in ("normalised", "mean_removed", "energy_share", "fine_share"):
            np.testing.assert_array_equal(getattr(two, name), getattr(one, name))


def test_extreme_heads_stand_beside_ordinary_ones(rng):
    X = rng.normal(size=(5, 4, 3))
    plain = hb.head_entropy(X, TREES)
    mixed = hb.head_entropy(X * [1.0, 1e-300, 1e300], TREES)
    np.testing.assert_allclose(mixed.normalised, plain.normalised, rtol=1e-12)
    np.testing.assert_allclose(mixed.raw, plain.raw * [1.0, 1e-300, 1e300], rtol=1e-12)


def test_a_slice_of_extreme_size_has_its_cosine(rng):
    X = rng.uniform(0.1, 1, size=(5, 7))
    expected = hb.cosine_affinity(X)
    sizes = np.array([1.0, 1e-300, 1e300, 1e-320, 1e-200])[:, None]
    found = hb.cosine_affinity(X * sizes)
    np.testing.assert_allclose(found[:3, :3], expected[:3, :3], rtol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-3)  # 1e-320 has four digits


@pytest.mark.parametrize("power", [-1000, -300, 300, 1000])
def test_what_is_linear_is_linear_at_any_scale(rng, power):
    X = rng.normal(size=(5, 4, 3))
    Y = np.ldexp(X, power)
    for linear in (
        lambda Z: hb.tree_emd(Z, TREES),
        lambda Z: hb.haar_transform(Z, TREES),
        lambda Z: hb.inverse_haar_transform(Z, TREES),
        lambda Z: hb.haar_l1(Z, TREES),
        lambda Z: hb.sorted_coefficients(Z, TREES, 6),
    ):
        np.testing.assert_array_equal(linear(Y), np.ldexp(linear(X), power))


@pytest.mark.parametrize("power", [-1000, -300, 300, 1000])
def test_distances_and_affinities_of_any_size_are_taken(rng, power):
    distances = np.abs(np.subtract.outer(*[rng.normal(size=6)] * 2))
    np.testing.assert_array_equal(
        hb.distance_affinity(np.ldexp(distances, power)), hb.distance_affinity(distances)
    )
    if power > 0:
        affinity = np.exp(-distances)
        np.testing.assert_allclose(
            hb.markov_spectrum(np.ldexp(affinity, power)).eigenvectors,
            hb.markov_spectrum(affinity).eigenvectors,
            rtol=1e-9,
        )


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_a_bandwidth_of_one_is_in_the_units_of_the_data(scale):
    # Five alike and one apart: the median of the five nearest is 0, and 0 counts as 1.
    X = np.array([[1.0]] * 5 + [[2.0]]) * scale
    far = 1.0 if scale < 1 else 0.0
    found = hb.gaussian_affinity(X)
    np.testing.assert_array_equal(found[:5, :5], np.ones((5, 5)))
    # The lone one's own nearest are the five, at the distance itself: e^-1 from its side.
    np.testing.assert_allclose(found[0, 5], (far + np.exp(-1)) / 2)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_a_zero_median_of_one_is_in_the_units_of_the_data(scale):
    distances = np.zeros((4, 4))
    distances[3, :3] = distances[:3, 3] = scale
    far = 1.0 if scale < 1 else 0.0
    assert hb.distance_affinity(distances)[3].tolist() == [far, far, far, 1.0]


def test_scores_of_any_size_are_ranked():
    scores = np.array([[-1.7e308, 0.0, 1.7e308], [-1e-320, 0.0, 1e-320]])
    assert hb.ranking_stability(scores).mean_kendall_tau == 1
    assert HALVES.leaf_order([1.7e308, 1.7e308, -1.7e308, 1e308]).tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("scale", [1e-300, 1e290])
def test_the_holder_exponent_does_not_depend_on_the_scale(rng, scale):
    f = rng.normal(size=(5, 4))
    one, two = hb.holder_exponent(f, CHAINED, HALVES), hb.holder_exponent(f * scale, CHAINED, HALVES)
    assert two.alpha == pytest.approx(one.alpha, abs=1e-9)
    assert two.shuffled_alpha == pytest.approx(one.shuffled_alpha, abs=1e-9)
    np.testing.assert_allclose(two.constants / scale, one.constants, rtol=1e-9)


def test_softmax_of_logits_that_are_far_apart():
    found = row_softmax([[-1.7e308, 1.7e308], [1e-320, 1e-320]])
    assert found.tolist() == [[0.0, 1.0], [0.5, 0.5]]


@pytest.mark.parametrize("nonlinearity", ["square", "cube", "tanh", "inverse potential"])
def test_errors_of_paraproducts_of_small_functions_are_no_zeros_over_zeros(rng, nonlinearity):
    f = rng.normal(size=(5, 4))
    small = hb.paraproduct(f * 1e-60, CHAINED, HALVES, nonlinearity)
    assert np.isfinite([small.relative_error, small.centred_error]).all()
    if nonlinearity in ("square", "cube"):
        # Homogeneous: the scale goes out of the ratio.
        plain = hb.paraproduct(f, CHAINED, HALVES, nonlinearity)
        assert small.relative_error == pytest.approx(plain.relative_error)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: hb.tree_emd(X * 1e308, {"query": CHAINED}), "tree distances must stay below"),
        (
            lambda X: hb.haar_transform(X * 1e308, TREES),
            r"must stay below 1.8e\+308, the largest.*Divide the",
        ),
        (lambda X: hb.haar_transform(np.float32(2e38) * X.astype(np.float32), TREES), r"3.4e\+38.*float32"),
        (lambda X: hb.haar_l1(X * 1e308, TREES), "the l1 norm must stay below"),
        (lambda X: hb.head_entropy(X * 1e308, TREES), "range of float64.*Choose p nearer to 1"),
        (lambda X: hb.head_entropy(X, TREES, p=2000), "with p=2000 they are too large or too small"),
        (lambda X: hb.network_entropy(X / 10, TREES, p=1e6), "too large or too small"),
        (
            lambda X: hb.paraproduct(X * 1e200, CHAINED, HALVES, "tanh"),
            r"below 2e\+90 in size; it is 1.*pass mask=",
        ),
        (
            lambda X: hb.paraproduct(X * 1e80, CHAINED, HALVES, "cube"),
            "every term of a paraproduct must be finite",
        ),
        (lambda X: hb.softmax_invariance(X * -1e300, CHAINED, HALVES), r"below 2e\+90 in size"),
    ],
)
def test_results_beyond_the_range_are_refused(call, message):
    with pytest.raises(hb.DataError, match=message):
        call(np.ones((5, 4)) + np.arange(4) / 8)


@pytest.mark.parametrize(("alpha", "beta"), [(-40, 1), (0, -40), (-900, -900)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponents_whose_weights_overflow_are_refused(rng, alpha, beta, dtype):
    X = rng.uniform(0.1, 1, size=(6, 7, 5)).astype(dtype)
    with pytest.raises(
        hb.SettingError, match=r"weights of folders below 2\*\*60; .* Choose exponents nearer"
    ):
        hb.organize(X, alpha=alpha, beta=beta)


@pytest.mark.parametrize("alpha", [1000, 30, -3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponents_whose_weights_vanish_or_stay_moderate_are_taken(rng, alpha, dtype):
    X = rng.uniform(0.1, 1, size=(6, 7, 5)).astype(dtype)
    assert np.isfinite(hb.organize(X, alpha=alpha).affinities["head"]).all()
