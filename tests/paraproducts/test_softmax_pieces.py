import numpy as np
import pytest

import haarbor as hb
from haarbor.paraproducts import (
    row_softmax,
    telescoping,
)
from tests.paraproducts.builders import SHAPES, assert_agrees_with_reference, sample
from tests.reference.paraproduct import RowSoftmax
from tests.samples import HALVES, random_tree


@pytest.mark.parametrize("masked", [False, True])
def test_softmax_forms_are_those_of_full_jacobians(masked, rng):
    for shape in SHAPES:
        trees = [random_tree(rng, n) for n in shape]
        f, mask = sample(rng, shape, masked)
        assert_agrees_with_reference(2 * f, trees, "softmax", RowSoftmax(mask), mask)


def test_huge_logits_do_not_overflow_the_softmax(rng):
    f = 1e4 * rng.normal(size=(4, 4))
    for mask in (None, np.tri(4, dtype=bool)):
        split = hb.paraproduct(f, HALVES, HALVES, "softmax", mask=mask)
        assert np.isfinite(split.approximation).all()
        np.testing.assert_allclose(split.value.sum(axis=1), 1.0, rtol=1e-9)
        exact = telescoping(f, HALVES, HALVES, "softmax", mask)
        np.testing.assert_allclose(exact.total, row_softmax(f, mask), atol=1e-12)
