import numpy as np
import pytest

from haarbor.transport._folder_features import ground_weight, outer_folders, raised_folders
from tests.assertions import assert_close
from tests.reference.tree_emd import pruned_weights
from tests.samples import CHAINED, HALVES, PAIR, random_tree


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (1.0, 0.0), (0.5, 0.5)])
def test_ground_weight_is_that_of_the_last_level(alpha, beta):
    assert ground_weight(CHAINED, alpha, beta) == pytest.approx(CHAINED.weights(alpha, beta)[-1], rel=1e-15)


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (1.0, 0.0), (0.3, 0.6)])
def test_ground_and_raised_products_together_weigh_what_the_folders_do(rng, alpha, beta):
    one, two = CHAINED, random_tree(rng, 4)
    expected = {}
    for a, weight_a in pruned_weights(one.levels.tolist(), alpha, beta).items():
        for b, weight_b in pruned_weights(two.levels.tolist(), alpha, beta).items():
            expected[tuple(sorted(100 * x + y for x in a for y in b))] = weight_a * weight_b
    ground = ground_weight(one, alpha, beta) * ground_weight(two, alpha, beta)
    found = {}
    for part, scale in (("ground", ground), ("raised", 1.0)):
        outer = outer_folders([one, two], [100, 1], [(alpha, beta)] * 2)[part]
        for g in range(outer.n_folders):
            run = outer.offsets[outer.begins[g] : outer.begins[g + 1]]
            key = tuple(sorted(run.tolist()))
            found[key] = found.get(key, 0.0) + scale * outer.scale[g] * run.size
    assert set(found) == set(expected)
    assert_close([found[key] for key in expected], list(expected.values()))


def test_ground_products_are_all_single_entries_with_weight_one():
    outer = outer_folders([PAIR, HALVES], [10, 1], [(0.5, 1.0)] * 2)["ground"]
    assert sorted(outer.offsets.tolist()) == [0, 1, 2, 3, 10, 11, 12, 13]
    assert (np.diff(outer.begins) == 1).all()
    assert (outer.scale == 1).all()


def test_no_outer_axes_are_one_empty_product():
    ground, raised = outer_folders([], [], []).values()
    assert (ground.offsets.tolist(), ground.scale.tolist()) == ([0], [1.0])
    assert raised.n_folders == 0


def sums_of_raised(raised, n_items):
    """Items each raised folder adds up, following its children."""
    members = [[item] for item in range(n_items)]
    for g in range(raised.n_folders):
        run = raised.children[raised.child_begins[g] : raised.child_begins[g + 1]]
        assert (run < len(members)).all(), "children come before their parents"
        members.append(sorted(item for child in run for item in members[child]))
    return [tuple(items) for items in members[n_items:]]


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (1.0, 0.0), (0.3, 0.6)])
def test_raised_folders_weigh_what_the_ground_leaves(rng, alpha, beta):
    for tree in (CHAINED, HALVES, PAIR, random_tree(rng, 1), random_tree(rng, 12)):
        n_items = tree.n_items
        expected = pruned_weights(tree.levels.tolist(), alpha, beta)
        for item in range(n_items):
            expected[(item,)] -= ground_weight(tree, alpha, beta)
        raised = raised_folders(tree, alpha, beta)
        found = dict.fromkeys(expected, 0.0)
        for items, scale in zip(sums_of_raised(raised, n_items), raised.scale, strict=True):
            found[items] += scale * len(items)
        assert_close([found[key] for key in expected], list(expected.values()))


def test_folders_seen_by_more_rows_stand_first():
    # Item j is present in rows j, j + 1, ...: folders that hold item 0 reach all rows.
    raised = raised_folders(HALVES, 0.0, 1.0, np.tri(4, dtype=bool))
    members = sums_of_raised(raised, 4)
    in_order = [members[g] for g in np.argsort(raised.column)]
    assert sorted(raised.column.tolist()) == list(range(raised.n_folders))
    assert set(in_order[:2]) == {(0, 1), (0, 1, 2, 3)}
    assert in_order[2] == (2, 3)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5])
def test_folders_are_ordered_by_the_rows_in_which_they_can_be_non_zero(rng, share):
    tree = random_tree(rng, 23)
    present = rng.random((70, 23)) < share
    weights = tree.pruned.raised_weights(1.0, 0.0)
    reach = [present[:, tree.pruned.members(f)].any(axis=1).sum() for f in np.flatnonzero(weights)]
    found = raised_folders(tree, 1.0, 0.0, present)
    by_column = np.empty(found.n_folders, np.int64)
    scattered = raised_folders(tree, 1.0, 0.0)
    values = np.zeros((23 + found.n_folders, 70), bool)
    values[:23] = present.T
    for g in range(found.n_folders):
        values[23 + g] = values[
            scattered.children[scattered.child_begins[g] : scattered.child_begins[g + 1]]
        ].any(axis=0)
        by_column[found.column[g]] = values[23 + g].sum()
    assert by_column.tolist() == sorted(reach, reverse=True)
