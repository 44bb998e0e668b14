from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from haarbor.compare import linear_cka, unbiased_hsic
from haarbor.errors import DataError, ShapeError


def noise(n, features, seed):
    return np.random.default_rng(seed).normal(size=(n, features))


def slow_hsic(k, ell):
    """Mean over all ordered choices of four different samples, as the criterion is defined."""
    terms = [
        k[i, j] * ell[i, j] + k[i, j] * ell[q, r] - 2 * k[i, j] * ell[i, q]
        for i, j, q, r in permutations(range(len(k)), 4)
    ]
    return float(np.mean(terms))


def biased_cka(x, y):
    a, b = x - x.mean(axis=0), y - y.mean(axis=0)
    return np.linalg.norm(a.T @ b) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b))


@pytest.mark.parametrize("seed", range(3))
def test_the_criterion_is_the_mean_over_four_different_samples(seed):
    x, y = noise(7, 3, seed), noise(7, 2, seed + 10)
    assert unbiased_hsic(x @ x.T, y @ y.T) == pytest.approx(slow_hsic(x @ x.T, y @ y.T), abs=1e-12)


def test_a_value_by_hand():
    # Of 12 ordered pairs of samples two have 1 in the kernel, (0, 1) and (1, 0), so the first term is 2/12;
    # the other terms need a second such pair among the other samples, and there is none.
    x = np.array([[1.0], [1.0], [0.0], [0.0]])
    assert unbiased_hsic(x @ x.T, x @ x.T) == pytest.approx(1 / 6)


def test_independent_noises_of_32_samples_score_about_nothing_and_the_biased_form_a_fifth():
    pairs = [(noise(32, 8, seed), noise(32, 8, 1000 + seed)) for seed in range(60)]
    each = np.array([linear_cka(x, y) for x, y in pairs])
    assert abs(each.mean()) < 0.02
    # One batch scatters by about 1 over the root of its 496 pairs, six batches together by 0.02.
    assert each.std() == pytest.approx(0.05, abs=0.015)
    together = [linear_cka(*zip(*pairs[begin : begin + 6], strict=True)) for begin in range(0, len(pairs), 6)]
    assert np.sqrt(np.mean(np.square(together))) == pytest.approx(0.02, abs=0.012)
    assert np.mean([biased_cka(x, y) for x, y in pairs]) == pytest.approx(0.2, abs=0.03)


def test_terms_of_batches_are_summed_before_they_are_divided():
    x = [noise(8, 4, seed) for seed in range(6)]
    y = [a @ noise(4, 4, 50) + 0.5 * noise(8, 4, seed + 20) for seed, a in enumerate(x)]
    terms = np.array(
        [
            [
                unbiased_hsic(a @ a.T, b @ b.T),
                unbiased_hsic(a @ a.T, a @ a.T),
                unbiased_hsic(b @ b.T, b @ b.T),
            ]
            for a, b in zip(x, y, strict=True)
        ]
    ).sum(axis=0)
    assert linear_cka(x, y) == pytest.approx(terms[0] / np.sqrt(terms[1] * terms[2]))
    each = np.mean([linear_cka(a, b) for a, b in zip(x, y, strict=True)])
    assert linear_cka(x, y) != pytest.approx(each, abs=1e-3)


@settings(max_examples=25, deadline=None)
@given(arrays(np.float64, (6, 3), elements=st.floats(-3, 3, width=16)), st.floats(0.1, 10))
def test_rotation_shift_and_scale_change_nothing(x, scale):
    own = unbiased_hsic(x @ x.T, x @ x.T)
    if own < 1e-6:
        return
    turn, _ = np.linalg.qr(noise(3, 3, 3))
    assert linear_cka(x, scale * x @ turn + 5) == pytest.approx(1.0, abs=1e-6)
    y = noise(6, 3, 4)
    assert linear_cka(x, y) == pytest.approx(linear_cka(y, x), abs=1e-12)


def test_a_constant_has_no_alignment():
    assert np.isnan(linear_cka(np.ones((5, 2)), noise(5, 2, 0)))


def test_rejections():
    x = noise(6, 2, 0)
    with pytest.raises(ShapeError, match="the same samples"):
        linear_cka(x, noise(7, 2, 0))
    with pytest.raises(ShapeError, match="4 samples or more"):
        linear_cka(x[:3], x[:3])
    with pytest.raises(ShapeError, match="same batches"):
        linear_cka([x, x], [x])
    with pytest.raises(ShapeError, match="samples x features"):
        linear_cka(np.ones(5), np.ones(5))
    with pytest.raises(DataError, match="finite"):
        linear_cka(x * np.nan, x)
