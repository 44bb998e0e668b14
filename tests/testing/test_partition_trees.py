import numpy as np
import pytest
from hypothesis import find, given

import haarbor as hb
from haarbor.testing import partition_trees


@given(partition_trees(min_items=2, max_items=7, max_inner_levels=3))
def test_trees_are_within_their_bounds(tree):
    assert isinstance(tree, hb.PartitionTree)
    assert 2 <= tree.n_items <= 7
    assert tree.n_levels <= 5


@pytest.mark.slow
def test_trees_of_every_awkward_kind_are_drawn():
    trees = partition_trees(max_items=6)

    def repeats_a_level(tree):
        return any((a == b).all() for a, b in zip(tree.levels, tree.levels[1:], strict=False))

    kinds = [
        lambda tree: tree.n_items == 1,
        lambda tree: tree.n_items == 1 and tree.n_levels > 1,
        repeats_a_level,
        lambda tree: (
            tree.n_items > 3 and tree.pruned.n_folders < tree.n_folders and not repeats_a_level(tree)
        ),
        lambda tree: np.diff(tree.pruned.child_offsets).max() > 2 and tree.n_levels > 2,
        lambda tree: tree.n_levels > 3 and len({f.size for f in tree.folders(1)}) > 1,
        lambda tree: tree.n_levels > 3 and 1 in [f.size for f in tree.folders(1)],
    ]
    for kind in kinds:
        assert kind(find(trees, kind))
