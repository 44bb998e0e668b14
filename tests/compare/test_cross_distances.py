import numpy as np
import pytest

import haarbor as hb
from haarbor.compare import cross_distances
from haarbor.errors import ShapeError
from tests.compare.networks import attention

ONE, TWO = attention(0, seed=0), attention(0, seed=1)[:, :, :5]
MADE = [hb.organize(ONE), hb.organize(TWO)]


def slow(first, second, organization, rows=slice(None)):
    """Weighted differences of means over all products of different folders, in loops."""
    folders = {}
    for axis, chosen in (("query", rows), ("key", slice(None))):
        tree = hb.PartitionTree(organization.trees[axis].levels[:, chosen])
        found = {tuple(items.tolist()) for level in tree for items in level}
        folders[axis] = (found, tree)
    total = np.zeros((first.shape[2], second.shape[2]))
    for queries in folders["query"][0]:
        for keys in folders["key"][0]:
            part = np.ix_(queries, keys)
            means = [x[rows][part].mean(axis=(0, 1)) for x in (first, second)]
            weight = 1.0
            for items, axis in ((queries, "query"), (keys, "key")):
                tree = folders[axis][1]
                copies = sum(items == tuple(f.tolist()) for level in tree for f in level)
                weight *= copies * len(items) / tree.n_items
            total += weight * np.abs(means[0][:, None] - means[1][None, :])
    return total


@pytest.mark.parametrize("rows", [slice(None), slice(1, None, 2)])
def test_against_a_slow_reference(rows):
    expected = (slow(ONE, TWO, MADE[0], rows) + slow(ONE, TWO, MADE[1], rows)) / 2
    np.testing.assert_allclose(cross_distances(ONE, TWO, MADE, queries=rows), expected, rtol=1e-9)


def test_a_network_is_at_distance_0_from_itself_and_its_copies_heads_are_where_they_were_moved():
    order = np.random.default_rng(0).permutation(ONE.shape[2])
    found = cross_distances(ONE, ONE[:, :, order], MADE[:1])
    assert (found[order, np.arange(order.size)] == 0).all()
    assert np.count_nonzero(found == 0) == order.size


def test_the_other_way_round_is_the_transpose():
    np.testing.assert_allclose(
        cross_distances(ONE, TWO, MADE), cross_distances(TWO, ONE, MADE[::-1]).T, rtol=1e-12
    )


def test_other_tokens_are_refused():
    with pytest.raises(ShapeError, match="same queries and keys"):
        cross_distances(ONE, TWO[:9, :9], MADE)
