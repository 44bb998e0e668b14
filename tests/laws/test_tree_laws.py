import copy

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import haarbor as hb
from haarbor.testing import partition_trees
from tests.assertions import assert_close
from tests.reference import newick
from tests.reference.tree_emd import pruned_weights

seeds = st.integers(0, 2**32 - 1)


def renumbered(tree, seed, n_numbers, least):
    """The same partitions under other folder numbers."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(n_numbers)[row] + least for row in tree.levels])


def with_same_items(n_items):
    return partition_trees(min_items=n_items, max_items=n_items)


pairs_of_trees = st.integers(1, 9).flatmap(lambda n: st.tuples(with_same_items(n), with_same_items(n)))
triples_of_trees = st.integers(1, 9).flatmap(lambda n: st.tuples(*[with_same_items(n)] * 3))


@given(partition_trees(), seeds)
def test_folder_numbers_do_not_matter(tree, seed):
    n = tree.n_items
    for n_numbers, least in ((10 * n, -5), (n, 0), (n + 1, 0), (n + 1, -1)):
        again = hb.PartitionTree(renumbered(tree, seed, n_numbers, least))
        assert again == tree
        assert again.levels.tobytes() == tree.levels.tobytes()
        assert hash(again) == hash(tree)


@given(partition_trees())
def test_numbering_is_canonical(tree):
    for row in tree.levels:
        first_seen = list(dict.fromkeys(row.tolist()))
        assert first_seen == list(range(len(first_seen)))
    assert tree.levels[-1].tolist() == list(range(tree.n_items))


@given(partition_trees())
def test_json_round_trip_is_the_identity(tree):
    assert hb.PartitionTree.from_json(tree.to_json()) == tree
    assert hb.PartitionTree.from_json(tree.to_json()).to_json() == tree.to_json()


@given(partition_trees())
def test_copies_are_equal(tree):
    assert copy.deepcopy(tree) == tree


@given(partition_trees(), st.lists(st.text(max_size=4), min_size=12, max_size=12))
def test_newick_text_parses_back_to_labels_and_folders(tree, texts):
    # Underscores have a test of their own, and so has what stands between labels.
    labels = [f"{text.replace('_', '')}~{item}" for item, text in enumerate(texts[: tree.n_items])]
    found = set()

    def visit(node):
        content, _ = node
        below = (
            [content] if isinstance(content, str) else [leaf for child in content for leaf in visit(child)]
        )
        found.add(frozenset(below))
        return below

    assert sorted(visit(newick.parse(tree.to_newick(labels)))) == sorted(labels)
    expected = {frozenset(labels[i] for i in items) for partition in tree for items in partition}
    assert found == expected


@given(partition_trees(), st.floats(0, 2), st.floats(-1, 2))
def test_pruning_keeps_folders_and_adds_weights(tree, alpha, beta):
    expected = pruned_weights(tree.levels.tolist(), alpha, beta)
    pruned = tree.pruned
    keys = [tuple(sorted(pruned.members(f).tolist())) for f in range(pruned.n_folders)]
    assert sorted(keys) == sorted(expected)
    assert_close(pruned.weights(alpha, beta), [expected[key] for key in keys])
    assert_close(pruned.weights(alpha, beta).sum(), tree.weights(alpha, beta).sum())


@given(partition_trees(), seeds)
def test_leaf_order_keeps_every_folder_together(tree, seed):
    scores = np.random.default_rng(seed).integers(0, 3, size=tree.n_items)
    for order in (tree.leaf_order(), tree.leaf_order(scores)):
        place = np.argsort(order)
        for folder in range(tree.n_folders):
            assert np.ptp(place[tree.items(folder)]) == tree.sizes[folder] - 1


@given(triples_of_trees)
def test_partition_distance_is_a_metric_up_to_chains(trees):
    a, b, c = trees
    ab, bc, ac = hb.partition_distance(a, b), hb.partition_distance(b, c), hb.partition_distance(a, c)
    assert 0 <= ab <= 1
    assert ab == hb.partition_distance(b, a)
    assert ac <= ab + bc + 1e-12
    assert hb.partition_distance(a, a) == 0


@given(pairs_of_trees)
def test_partition_distance_is_zero_exactly_for_the_same_folders(trees):
    a, b = trees

    def folders(tree):
        return {tuple(items.tolist()) for partition in tree for items in partition}

    assert (hb.partition_distance(a, b) == 0) == (folders(a) == folders(b))
    assert (hb.shared_folders(a, b) == 1) == (folders(a) == folders(b))
    assert 0 <= hb.shared_folders(a, b) == hb.shared_folders(b, a) <= 1


@given(partition_trees(min_items=2), seeds)
def test_permuting_items_permutes_tree_distances(tree, seed):
    order = np.random.default_rng(seed).permutation(tree.n_items)
    moved = hb.PartitionTree(tree.levels[:, order])
    assert (hb.tree_distances(moved) == hb.tree_distances(tree)[np.ix_(order, order)]).all()
