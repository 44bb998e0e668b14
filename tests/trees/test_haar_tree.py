import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import haarbor as hb
from tests.reference import haar_tree as reference
from tests.trees.haar_folders import folders_of, sets_of


def test_four_numbers_by_hand():
    # 0 and 1 differ least, sqrt(1/2) * 1; then 10 and 12, sqrt(1/2) * 2; then 0.5 against 11, 1 * 10.5.
    rows = np.array([[0.0], [10.0], [1.0], [12.0]])
    found = folders_of(rows)
    assert found.terms[4:].tolist() == pytest.approx([0.5**0.5, 2 * 0.5**0.5, 10.5])
    assert found.norm == pytest.approx(2 * 5.75 + 10.5 + 3 * 0.5**0.5)
    assert found.depth == 2.0
    assert hb.haar_tree(rows).levels.tolist() == [[0, 0, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_items", [1, 2, 3, 5, 9, 17])
def test_the_linkage_is_that_of_plain_python(rng, n_items, dtype):
    for _ in range(4):
        rows = rng.normal(size=(n_items, 6)).astype(dtype)
        slow = reference.haar_linkage(rows.astype(float).tolist())
        found = folders_of(rows)
        assert sets_of(found.tree()) == reference.folders_of(slow)
        assert found.tree() == hb.PartitionTree(reference.levels_of(slow, n_items))
        assert found.norm == pytest.approx(reference.norm(slow, rows.astype(float).tolist()), rel=1e-5)
        assert found.depth * n_items == reference.steps(slow)


@settings(max_examples=60)
@given(st.integers(2, 9), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_items_that_are_alike_come_together_first(n_items, n_features, seed):
    rows = np.random.default_rng(seed).integers(0, 2, size=(n_items, n_features)).astype(float)
    found = folders_of(rows)
    alike = {tuple(row): [] for row in rows.tolist()}
    for item, row in enumerate(rows.tolist()):
        alike[tuple(row)].append(item)
    assert {frozenset(items) for items in alike.values()} <= sets_of(found.tree())


def test_items_that_are_all_alike_make_a_balanced_tree():
    tree = hb.haar_tree(np.ones((16, 3)))
    assert tree.relative_depth == 1.0
    assert tree.n_levels == 5


@pytest.mark.parametrize("n_items", [3, 4, 5])
def test_the_least_norm_is_that_of_every_binary_tree_tried(rng, n_items):
    rows = rng.normal(size=(n_items, 3)).tolist()
    everything = list(reference.all_trees(list(range(n_items))))
    assert len(everything) == {3: 3, 4: 15, 5: 105}[n_items]
    assert reference.least_terms(rows) == pytest.approx(
        min(reference.terms(tree, rows) for tree in everything)
    )


@pytest.mark.parametrize("n_items", [5, 6, 7])
def test_trees_are_near_the_best_of_all_binary_trees(n_items):
    """On noise, the hardest case; benchmarks/haar_optimum.py has the figures for attention too."""
    rng = np.random.default_rng(n_items)
    linked, rotated = [], []
    for _ in range(12):
        rows = rng.normal(size=(n_items, 8))
        least = reference.least_terms(rows.tolist())
        linked.append(folders_of(rows).terms.sum() / least)
        rotated.append(folders_of(rows, 0.0).terms.sum() / least)
    assert min(rotated) >= 1 - 1e-12
    assert all(after <= before for after, before in zip(rotated, linked, strict=True))
    assert np.mean(rotated) < np.mean(linked) - 0.02
    assert max(rotated) < 1.1


def test_the_number_of_threads_changes_nothing(rng):
    rows = rng.normal(size=(40, 300)).astype(np.float32)
    one, many = (hb.haar_tree(rows, engine=hb.CpuEngine(n)) for n in (1, 3))
    assert one == many


@pytest.mark.parametrize("power", [-300, 300])
def test_very_small_and_very_large_numbers(rng, power):
    rows = rng.normal(size=(9, 4))
    assert hb.haar_tree(rows * 2.0**power * 2.0**power) == hb.haar_tree(rows)


def test_restraint_makes_trees_less_deep():
    # Each item is far larger than all before it together, as sinks are: they peel off one by one.
    rows = np.tri(32, k=-1) * 2.0 ** np.arange(32)
    deep, flat = (hb.haar_tree(rows, restraint=r) for r in (0.0, 1.0))
    assert deep.relative_depth > 1.9
    assert flat.relative_depth < 1.15


def test_what_cannot_be_used_is_refused(rng):
    rows = rng.normal(size=(4, 3))
    for wrong in (-0.1, 1.5, np.nan, None, "much", True):
        with pytest.raises(hb.SettingError, match="restraint must lie between 0 and 1; found"):
            hb.haar_tree(rows, restraint=wrong)
    with pytest.raises(hb.DataError, match=r"item 1, feature 2"):
        hb.haar_tree(np.where(np.arange(12).reshape(4, 3) == 5, np.nan, rows))
    with pytest.raises(hb.ShapeError):
        hb.haar_tree(rows[0])
    with pytest.raises(
        hb.SettingError, match="tree must be one of 'flexible', 'binary', 'haar'; found 'oak'"
    ):
        hb.build_tree(rows, tree="oak")


def test_build_tree_hands_its_restraint_on():
    rows = np.tri(32, k=-1) * 2.0 ** np.arange(32)
    for restraint in (0.0, 1.0):
        assert hb.build_tree(rows, tree="haar", restraint=restraint) == hb.haar_tree(
            rows, restraint=restraint
        )
    assert hb.haar_tree(rows) == hb.build_tree(rows, tree="haar")
