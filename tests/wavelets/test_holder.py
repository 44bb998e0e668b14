import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.wavelets._coefficient_decay import coefficient_decay, huber_fit
from tests.samples import CHAINED, HALVES, PAIR, tree_of_kind


@pytest.mark.parametrize(("kind", "n_items"), [("dyadic", 256), ("flexible", 197), ("lopsided", 256)])
def test_the_exponent_of_a_random_series_is_found_within_its_error(kind, n_items, rng):
    tree = tree_of_kind(kind, n_items, rng)
    found = hb.holder_exponent(hb.datasets.haar_series(tree, tree, 0.3, seed=1), tree, tree)
    assert found.alpha == pytest.approx(0.3, abs=0.01)
    assert abs(found.alpha - 0.3) < 3 * found.alpha_error
    assert 0.001 < found.alpha_error < 0.02
    assert abs(found.alpha_row - 0.3) < 3 * found.alpha_row_error
    assert abs(found.alpha_column - 0.3) < 3 * found.alpha_column_error
    assert found.shuffled_alpha < -0.3
    assert found.n_used + found.n_zero == (n_items - 1) ** 2


def test_white_noise_reads_minus_a_half(rng):
    tree = tree_of_kind("dyadic", 128, rng)
    found = hb.holder_exponent(rng.normal(size=(128, 128)), tree, tree)
    assert found.alpha == pytest.approx(-0.5, abs=0.03)
    assert found.shuffled_alpha == pytest.approx(-0.5, abs=0.03)


def test_two_exponents_are_told_apart(rng):
    tree = tree_of_kind("dyadic", 128, rng)
    f = hb.datasets.haar_series(tree, tree, 0.3)
    smoother = hb.haar_transform(f, {"key": tree})
    smoother[:, 1:] *= (hb.haar_system(tree).folder_sizes[1:] / 128) ** 0.4
    found = hb.holder_exponent(hb.inverse_haar_transform(smoother, {"key": tree}), tree, tree)
    assert found.alpha_row == pytest.approx(0.3, abs=0.03)
    assert found.alpha_column == pytest.approx(0.7, abs=0.03)


def test_folders_and_not_supports_are_regressed_on(rng):
    """A root of many children has functions of all supports, and one size."""
    n = 64
    star = hb.PartitionTree([np.zeros(n, dtype=int), np.arange(n)])
    dyadic = tree_of_kind("dyadic", n, rng)
    found = hb.holder_exponent(hb.datasets.haar_series(star, dyadic, 0.3), star, dyadic)
    assert np.isnan(found.alpha_row)
    assert found.alpha_column == pytest.approx(0.3, abs=0.05)


def test_constants_are_quantiles_of_what_the_power_leaves():
    tree = tree_of_kind("dyadic", 64, None)
    f = hb.datasets.haar_series(tree, tree, 0.3, amplitude=2.5, coefficients="signs")
    found = hb.holder_exponent(f, tree, tree)
    assert found.alpha == pytest.approx(0.3, abs=1e-9)
    np.testing.assert_allclose(found.constants, 2.5, rtol=1e-8)
    assert found.alpha_error < 1e-9


@pytest.mark.slow
def test_one_newton_step_spreads_as_a_whole_refit_does(rng):
    trees = [tree_of_kind("unequal", n, rng) for n in (25, 30)]
    f = rng.standard_t(4, size=(25, 30))
    found = hb.holder_exponent(f, *trees, n_draws=2000, seed=3)
    decay = coefficient_decay(f, *trees)
    slopes = []
    for _ in range(600):
        rows, columns = rng.integers(0, 24, 24), rng.integers(0, 29, 29)
        drawn = type(decay)(
            log_differences=decay.log_differences[np.ix_(rows, columns)],
            used=decay.used[np.ix_(rows, columns)],
            log_row_sizes=decay.log_row_sizes[rows],
            log_column_sizes=decay.log_column_sizes[columns],
        )
        slopes.append(huber_fit(drawn, separate=False).slopes[0])
    # Six hundred draws know a standard deviation to 3 %.
    assert found.alpha_error == pytest.approx(np.std(slopes), rel=0.1)


def test_the_same_seed_gives_the_same_answer(rng):
    f = rng.normal(size=(4, 5))
    one, two = (hb.holder_exponent(f, HALVES, CHAINED, seed=4) for _ in range(2))
    assert (one.alpha_error, one.shuffled_alpha) == (two.alpha_error, two.shuffled_alpha)
    other = hb.holder_exponent(f, HALVES, CHAINED, seed=5)
    assert other.alpha == one.alpha
    assert other.alpha_error != one.alpha_error


def test_scale_and_shift_change_no_exponent(rng):
    f = rng.normal(size=(4, 5))
    plain = hb.holder_exponent(f, HALVES, CHAINED)
    moved = hb.holder_exponent(7 * f + rng.normal(size=5) + rng.normal(size=(4, 1)), HALVES, CHAINED)
    assert moved.alpha == pytest.approx(plain.alpha, abs=1e-6)


@pytest.mark.parametrize(
    ("f", "trees", "error", "message"),
    [
        (np.ones((4, 4)), (HALVES, HALVES), DataError, "every mixed Haar coefficient is zero"),
        (np.ones((4, 1)), (HALVES, hb.PartitionTree([[0]])), DataError, "two items on each axis"),
        (np.ones((4, 4)), (HALVES, PAIR), ShapeError, "must have 4 items"),
        (np.full((2, 2), np.inf), (PAIR, PAIR), DataError, "must be finite"),
    ],
)
def test_what_has_no_exponent_is_refused(f, trees, error, message):
    with pytest.raises(error, match=message):
        hb.holder_exponent(f, *trees)


@pytest.mark.parametrize("name", ["n_draws", "n_shuffles"])
def test_a_single_draw_has_no_spread(name, rng):
    with pytest.raises(SettingError, match=f"{name} must be a whole number in 2..1000000"):
        hb.holder_exponent(rng.normal(size=(4, 4)), HALVES, HALVES, **{name: 1})
