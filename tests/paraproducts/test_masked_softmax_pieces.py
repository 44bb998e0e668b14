import numpy as np

import haarbor as hb
from haarbor.paraproducts import (
    _masked_softmax_pieces as masked_softmax_pieces,
)
from tests.paraproducts.builders import assert_agrees_with_reference, sample
from tests.reference.paraproduct import RowSoftmax
from tests.samples import random_tree


def test_a_causal_mask_with_a_row_that_sees_nothing(rng):
    trees = [random_tree(rng, 8), random_tree(rng, 8)]
    mask = np.tri(8, k=-1, dtype=bool)
    f = np.where(mask, rng.normal(size=(8, 8)), -np.inf)
    assert_agrees_with_reference(np.where(mask, f, 0.0), trees, "softmax", RowSoftmax(mask), mask)
    split = hb.paraproduct(f, *trees, "softmax", mask=mask)
    assert (split.approximation[~mask] == 0).all()
    assert (split.residual[~mask] == 0).all()
    np.testing.assert_allclose(split.value.sum(axis=1), [0.0] + [1.0] * 7, atol=1e-12)


def test_a_masked_softmax_of_many_rows_is_summed_over_all_blocks_of_them(rng):
    shape = (2 * masked_softmax_pieces._BLOCK + 6, 5)
    trees = [random_tree(rng, n) for n in shape]
    f, mask = sample(rng, shape, True)
    assert_agrees_with_reference(f, trees, "softmax", RowSoftmax(mask), mask)


def test_the_spread_of_the_constants_does_not_depend_on_the_blocks(rng, monkeypatch):
    trees = [random_tree(rng, n) for n in (40, 6)]
    f, mask = sample(rng, (40, 6), True)
    found = []
    for block in (7, 1000):
        monkeypatch.setattr(masked_softmax_pieces, "_BLOCK", block)
        figures = hb.softmax_invariance(f, *trees, mask).figures
        found.append((figures.constant_mean, figures.constant_deviation))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
