import numpy as np
import pytest

import haarbor as hb
from haarbor.trees import collapsed_chains, drawn_tree, halved_tree
from tests.samples import random_tree


def chain(n_items, shown=None):
    """Items come off one by one, the last two together."""
    rows = [np.minimum(np.arange(n_items), level) for level in range(n_items - 1)]
    return hb.PartitionTree([*rows, np.arange(n_items)])


def sets_of(tree):
    return {frozenset(items.tolist()) for partition in tree for items in partition}


def test_a_chain_becomes_one_folder_with_a_count():
    found = collapsed_chains(chain(40))
    assert found.tree.n_levels == 3
    # 38 items come off, and a pair is left.
    assert found.steps[0] == 38
    assert [folder.size for folder in found.tree.folders(1)] == [1] * 38 + [2]
    assert sorted(found.steps.tolist()) == [0] * 40 + [1, 38]


def test_small_parts_come_off_too():
    # 32 items: 4 (an eighth), then 3 of 28, then 3 of 25 come off together; 22 are left, halved.
    parts = np.repeat(np.arange(4), [4, 3, 3, 22])
    rest = halved_tree(22).levels
    rows = [np.minimum(parts, level) for level in range(4)]
    rows += [np.where(parts == 3, 3 + np.pad(level, (10, 0)), parts) for level in rest[1:-1]]
    tree = hb.PartitionTree([*rows, np.arange(32)])
    found = collapsed_chains(tree)
    assert found.steps[0] == 3
    assert sorted(folder.size for folder in found.tree.folders(1)) == [3, 3, 4, 22]


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 30])
def test_short_chains_and_other_trees_stay(n_items, rng):
    balanced = halved_tree(n_items)
    assert sets_of(collapsed_chains(balanced).tree) == sets_of(balanced)
    assert collapsed_chains(balanced).steps.max() <= 1
    tree = random_tree(rng, n_items)
    found = collapsed_chains(tree)
    assert sets_of(found.tree) <= sets_of(tree)
    hidden = len(sets_of(tree)) - len(sets_of(found.tree))
    assert int(found.steps.sum()) == (tree.pruned.sizes > 1).sum()
    assert hidden == int((found.steps - 1)[found.steps > 1].sum())


def test_only_deep_trees_are_drawn_otherwise():
    assert drawn_tree(chain(20)).tree == chain(20)
    assert drawn_tree(chain(40)).tree.n_levels == 3


def test_a_deep_tree_in_text():
    text = chain(40).render([f"k{i}" for i in range(40)])
    lines = text.splitlines()
    assert lines[0] == "40 items, apart in 38 steps"
    assert lines[1] == "├─ k0"
    assert lines[-3:] == ["└─ 2 items", "   ├─ k38", "   └─ k39"]
    assert max(map(len, lines)) < 30
    shallow = chain(5).render()
    assert "steps" not in shallow


def test_the_length_of_a_chain_is_checked():
    with pytest.raises(hb.SettingError, match="shortest must be a whole number from 2"):
        collapsed_chains(chain(5), shortest=1)
