"""One factor for every head that stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.errors import SettingError
from haarbor.pruning._head_scales import scaled_projection
from tests.assertions import assert_close
from tests.pruning.builders import layer_heads, moments_of


def test_by_hand_a_head_that_says_half_of_another_says_it_three_times_over():
    # Head 1 writes half of what head 0 writes: without head 0, three times head 1 is the whole output.
    x = np.array([[2.0, 1.0], [-4.0, -2.0]])
    fit = scaled_projection(moments_of(x, np.ones((1, 2))), layer_heads(2, 1), np.array([0]), ridge=0.0)
    assert_close(fit.weight, [[0.0, 3.0]])
    assert fit.error == pytest.approx(0, abs=1e-12)
    assert fit.mean_error == pytest.approx(10)


def test_the_factors_are_those_of_least_squares(rng):
    x, weight = rng.normal(1, 2, (50, 8)), rng.normal(size=(3, 8))
    removed = np.array([1, 3])
    fit = scaled_projection(moments_of(x, weight), layer_heads(4, 2), removed, ridge=0.0)
    written = [(x[:, 2 * h : 2 * h + 2] @ weight[:, 2 * h : 2 * h + 2].T).ravel() for h in range(4)]
    factors = np.linalg.lstsq(np.column_stack([written[0], written[2]]), sum(written), rcond=None)[0]
    expected = weight * np.repeat([factors[0], 0, factors[1], 0], 2)
    np.testing.assert_allclose(fit.weight, expected, atol=1e-9)
    left = sum(written) - factors[0] * written[0] - factors[1] * written[2]
    assert fit.error == pytest.approx(np.sum(left**2) / 50)


@given(st.floats(0, 10), st.integers(0, 2**32 - 1))
def test_it_is_never_worse_than_doing_nothing(ridge, seed):
    rng = np.random.default_rng(seed)
    moments = moments_of(rng.normal(size=(30, 6)), rng.normal(size=(3, 6)), bias=np.arange(3.0))
    fit = scaled_projection(moments, layer_heads(3, 2), np.array([2]), ridge=ridge)
    assert fit.error <= fit.mean_error * (1 + 1e-9)
    assert fit.bias.tolist() == [0, 1, 2]
    assert not fit.weight[:, 4:].any()


def test_a_negative_ridge_is_refused(rng):
    moments = moments_of(rng.normal(size=(30, 4)), np.ones((2, 4)))
    with pytest.raises(SettingError, match="ridge must not be negative"):
        scaled_projection(moments, layer_heads(2, 2), np.array([0]), ridge=-1.0)
