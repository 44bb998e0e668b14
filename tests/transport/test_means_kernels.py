import numpy as np
import pytest

from haarbor.transport._means_kernels import last_axis_first, presence


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 17, 5), (2, 16, 33), (4, 40, 18)])
def test_the_last_axis_comes_first(rng, shape):
    source = rng.normal(size=shape)
    target = np.full((shape[2], shape[0], shape[1]), np.nan)
    half = shape[0] // 2
    last_axis_first(source, target, 0, half)
    last_axis_first(source, target, half, shape[0])
    assert (target == np.moveaxis(source, 2, 0)).all()


def test_presence_is_any_non_zero_over_the_matrices(rng):
    stack = rng.normal(size=(4, 3, 5)) * (rng.random((4, 3, 5)) < 0.25)
    found = presence(stack.reshape(-1), np.array([0, 15, 45]), 3, 5, 5)
    assert (found == (stack[[0, 1, 3]] != 0).any(axis=0)).all()
