import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import haarbor as hb
from haarbor.trees import depth_price, rotate
from haarbor.trees._binary_folders import BinaryFolders
from tests.reference import haar_tree as reference
from tests.trees.haar_folders import folders_of, sets_of


def test_a_rotation_by_hand():
    # (0, 1, 2.9) greedily: {0, 1} first, then 2.9: sqrt(1/2) + sqrt(2/3) * 2.4 = 2.667. The outer two
    # first, whose mean is 1.45: sqrt(1/2) * 2.9 + sqrt(2/3) * 0.45 = 2.418, which is less.
    rows = np.array([[0.0], [1.0], [2.9]])
    assert folders_of(rows).terms[3:].tolist() == pytest.approx([0.5**0.5, (2 / 3) ** 0.5 * 2.4])
    assert folders_of(rows, 0.0).terms[3:].tolist() == pytest.approx([0.5**0.5 * 2.9, (2 / 3) ** 0.5 * 0.45])
    # {1, 2.9} first is sqrt(1/2) * 1.9 + sqrt(2/3) * 1.95 = 2.936, the worst of the three.
    assert sets_of(folders_of(rows, 0.0).tree()) >= {frozenset({0, 2})}
    # A chain that rotations undo: rows in two groups, given as a chain.
    rows = np.array([[0.0], [0.1], [5.0], [5.1]])
    means = np.concatenate([rows, np.zeros((3, 1))])
    joins = np.array([[0, 2], [4, 1], [5, 3]])
    for step, (a, b) in enumerate(joins):
        size = [1, 1, 1, 1, 2, 3][a]
        means[4 + step] = (size * means[a] + means[b]) / (size + 1)
    terms = np.array([0.5**0.5 * 5, (2 / 3) ** 0.5 * 2.4, (3 / 4) ** 0.5 * 3.4])
    chain = BinaryFolders.of_joins(means, joins, terms)
    assert chain.norm == pytest.approx(hb.haar_l1(rows, {"item": chain.tree()}, ("item", "feature")))
    rotate(chain, 0.0, 1)
    assert sets_of(chain.tree()) >= {frozenset({0, 1}), frozenset({2, 3})}
    assert chain.terms[4:].sum() == pytest.approx(2 * 0.5**0.5 * 0.1 + 5.0)


@given(st.integers(3, 14), st.integers(1, 8), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.01, 0.2]))
def test_rotations_end_where_no_rotation_lowers_the_objective(n_items, n_features, seed, restraint):
    rows = np.random.default_rng(seed).normal(size=(n_items, n_features))
    before = folders_of(rows)
    price = depth_price(restraint, before.norm, n_items)
    after = folders_of(rows, restraint)
    assert after.norm + price * n_items * after.depth <= (
        before.norm + price * n_items * before.depth + 1e-9 * before.norm
    )
    plain = rows.tolist()
    tree = nested(after)
    now = reference.norm(tree, plain) + price * reference.steps(tree)
    assert now == pytest.approx(after.norm + price * n_items * after.depth, rel=1e-9)
    for other in reference.rotations_of(tree):
        assert reference.norm(other, plain) + price * reference.steps(other) >= now * (1 - 1e-9)


def nested(folders):
    def below(folder):
        if folder < folders.n_items:
            return int(folder)
        return (below(folders.left[folder]), below(folders.right[folder]))

    return below(2 * folders.n_items - 2)
