from itertools import pairwise

import numpy as np

from haarbor.paraproducts import (
    paraproduct_forms,
    pointwise_nonlinearity,
)
from tests.paraproducts.builders import FUNCTIONS
from tests.samples import CHAINED, HALVES


def test_given_functions_are_taken_as_they_are(rng):
    f = rng.normal(size=(4, 5))
    named = paraproduct_forms(f, HALVES, CHAINED, "tanh")
    given = paraproduct_forms(f, HALVES, CHAINED, FUNCTIONS["tanh"])
    for form in named:
        np.testing.assert_allclose(given[form].approximation, named[form].approximation, atol=1e-12)
    assert given["paper"].nonlinearity == "given"


def test_named_derivatives_are_derivatives():
    x = np.linspace(-2.0, 2.0, 41)
    step = 1e-4
    for name in FUNCTIONS:
        derivatives = pointwise_nonlinearity(name, order=3).derivatives
        for lower, higher in pairwise(derivatives):
            slope = (lower(x + step) - lower(x - step)) / (2 * step)
            np.testing.assert_allclose(higher(x), slope, atol=2e-6)
