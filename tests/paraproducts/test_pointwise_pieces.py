import numpy as np
import pytest

import haarbor as hb
from tests.paraproducts.builders import FUNCTIONS, SHAPES, assert_agrees_with_reference, sample
from tests.reference.paraproduct import Pointwise
from tests.samples import HALVES, random_tree


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pointwise_forms_are_those_of_full_size_averages(name, masked, rng):
    for shape in SHAPES:
        trees = [random_tree(rng, n) for n in shape]
        f, mask = sample(rng, shape, masked)
        assert_agrees_with_reference(f, trees, name, Pointwise(*FUNCTIONS[name], mask), mask)


def test_a_function_undefined_at_zero_is_only_asked_where_there_are_means(rng):
    f = rng.uniform(1.0, 2.0, size=(4, 4))
    mask = np.tri(4, dtype=bool)
    log = (np.log, lambda x: 1 / x, lambda x: -1 / x**2)
    split = hb.paraproduct(f, HALVES, HALVES, log, mask=mask)
    np.testing.assert_allclose(split.value[mask], np.log(f[mask]), atol=1e-13)
