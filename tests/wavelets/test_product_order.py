import numpy as np
import pytest

import haarbor as hb
from haarbor.wavelets._product_order import largest_products
from tests.reference.entropy import product_order, support_of
from tests.reference.haar import haar_functions
from tests.samples import HALVES, PAIR, random_tree


@pytest.mark.parametrize("sizes", [(5,), (1, 1), (4, 6), (7, 1), (3, 4, 2), (2, 3, 2, 2)])
def test_order_and_ties_match_the_reference(rng, sizes):
    for _ in range(3):
        trees = [random_tree(rng, n) for n in sizes]
        functions = [haar_functions(tree.levels.tolist()) for tree in trees]
        systems = [hb.haar_system(tree) for tree in trees]
        order = product_order(functions)
        for k in {1, 2, len(order) // 2 + 1, len(order) - 1, len(order), len(order) + 5} - {0}:
            found = largest_products(systems, k)
            kept = min(k, len(order))
            cut = support_of(order[kept - 1], functions)
            assert [tuple(index) for index in found.chosen] == order[:kept]
            assert found.cut_support == cut
            assert [tuple(i) for i in found.above] == [i for i in order if support_of(i, functions) > cut]
            assert [tuple(i) for i in found.tied] == [i for i in order if support_of(i, functions) == cut]
            assert found.n_from_tied == kept - len(found.above)


def test_a_dyadic_tree_of_256_ties_as_the_theory_says():
    rows = [np.arange(256) // 2 ** (8 - level) for level in range(9)]
    system = hb.haar_system(hb.PartitionTree(np.stack(rows)))
    found = largest_products([system, system], 400)
    # Counted in the theory: many functions lie above the cut of 400, and many tie at it.
    supports = np.multiply.outer(system.supports, system.supports).ravel()
    cut = np.sort(supports)[::-1][399]
    assert found.cut_support == cut
    assert len(found.above) == (supports > cut).sum() == 192
    assert len(found.tied) == (supports == cut).sum() == 256


def test_smaller_sum_of_levels_then_smaller_first_level_goes_first():
    # Supports 8: constants or roots (level 0) of one axis times pairs (level 1) of the other.
    systems = [hb.haar_system(HALVES)] * 2
    tied = largest_products(systems, 5).tied.tolist()
    assert tied == [[0, 2], [0, 3], [1, 2], [1, 3], [2, 0], [2, 1], [3, 0], [3, 1]]


@pytest.mark.parametrize("k", [0, -3, 1.5, "4", True, None])
def test_bad_numbers_of_functions_are_refused(k):
    with pytest.raises(hb.SettingError, match="k must be a whole number from 1; found"):
        largest_products([hb.haar_system(PAIR)], k)


def test_numpy_integers_are_whole_numbers():
    assert largest_products([hb.haar_system(HALVES)], np.int32(2)).chosen.shape == (2, 1)
