from dataclasses import replace

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

import haarbor as hb
from haarbor.analysis import coherence_controls
from haarbor.analysis._coherence_controls import CONTROLS
from haarbor.stored_result import result_type_of
from haarbor.trees._control_trees import halved_tree, ordered_tree_like, random_tree_like
from tests.reference.haar import haar_coefficients, haar_functions

AXES = ("query", "key", "head")


def slow_l1(X, trees):
    functions = {place: haar_functions(trees[axis].levels.tolist()) for place, axis in enumerate(AXES)}
    return float(np.abs(haar_coefficients(X, functions)).sum())


def test_norms_are_those_of_expansions_written_out(rng):
    X = rng.random((5, 4, 3))
    org = hb.organize(X)
    found = coherence_controls(X, org, n_seeds=2, seed=7)
    assert found.organised == pytest.approx(slow_l1(X, org.trees), rel=1e-12)
    plain = {axis: halved_tree(n) for axis, n in zip(AXES, X.shape, strict=True)}
    assert found.original_order.tolist() == pytest.approx([slow_l1(X, plain)], rel=1e-12)
    same_shape = {axis: ordered_tree_like(tree) for axis, tree in org.trees.items()}
    assert found.same_shape_order.tolist() == pytest.approx([slow_l1(X, same_shape)], rel=1e-12)
    for method in ("average", "ward"):
        trees = {
            axis: hb.PartitionTree.from_linkage(linkage(np.moveaxis(X, place, 0).reshape(n, -1), method))
            for place, (axis, n) in enumerate(zip(AXES, X.shape, strict=True))
        }
        norm = getattr(found, f"{method}_linkage").tolist()
        assert norm == pytest.approx([slow_l1(X, trees)], rel=1e-12)
    for place in range(2):
        chance = np.random.default_rng([7, place])
        shuffled = {
            axis: hb.PartitionTree(tree.levels[:, chance.permutation(tree.n_items)])
            for axis, tree in org.trees.items()
        }
        assert found.shuffled_items[place] == pytest.approx(slow_l1(X, shuffled), rel=1e-12)
        random = {axis: random_tree_like(tree, chance) for axis, tree in org.trees.items()}
        assert found.random_trees[place] == pytest.approx(slow_l1(X, random), rel=1e-12)
        entries = chance.permutation(X.ravel()).reshape(X.shape)
        assert found.shuffled_entries[place] == pytest.approx(
            slow_l1(entries, hb.organize(entries).trees), rel=1e-12
        )


def test_ratios_are_of_the_control_to_the_organised():
    X = hb.datasets.synthetic_attention(24, 2, 3, causal=False)
    found = coherence_controls(X, hb.organize(X), n_seeds=3)
    for control in CONTROLS:
        np.testing.assert_allclose(found.ratios(control) * found.organised, getattr(found, control))
    assert found.ratios("shuffled_items").size == 3
    assert found.n_seeds == 3


def test_organisation_beats_chance_where_there_is_structure_and_not_where_there_is_none(rng):
    structured = hb.datasets.synthetic_attention(32, 2, 4, causal=False)
    found = coherence_controls(structured, hb.organize(structured), n_seeds=3)
    assert min(found.ratios(control).min() for control in CONTROLS[:3]) > 1.3
    noise = rng.normal(size=(24, 24, 6))
    chance = coherence_controls(noise, hb.organize(noise), n_seeds=3)
    np.testing.assert_allclose(chance.ratios("shuffled_entries"), 1.0, atol=0.03)


def test_only_valid_entries_are_shuffled_so_the_mask_is_no_discovery():
    mask = np.tri(12, dtype=bool)
    X = np.where(mask[:, :, None], 0.25, 0.0) * np.ones(3)
    org = hb.organize(X, mask=mask, content="probabilities")
    found = coherence_controls(X, org, mask=mask, content="probabilities", n_seeds=2)
    np.testing.assert_allclose(found.ratios("shuffled_entries"), 1.0, rtol=1e-12)


def test_masked_logits_do_not_matter(rng):
    mask = np.tri(10, dtype=bool)
    X = rng.normal(size=(10, 10, 3))
    spoilt = np.where(mask[:, :, None], X, -np.inf)
    one, two = (
        coherence_controls(
            tensor, hb.organize(tensor, mask=mask, content="logits"), mask=mask, content="logits", n_seeds=2
        )
        for tensor in (X, spoilt)
    )
    assert one.organised == two.organised
    for control in CONTROLS:
        np.testing.assert_array_equal(getattr(one, control), getattr(two, control))


@pytest.mark.parametrize(
    "options",
    [
        {"n_iterations": 1, "tree": "binary", "initial": "gaussian", "cut": "balanced"},
        {"refine": "published", "alpha": 1.0, "beta": 0.5, "tree_constant": 2.0},
        {"tree": "haar", "restraint": 0.2},
        {"tree": "haar", "start": {"query": halved_tree(12).permuted(np.arange(12)[::-1] ^ 1)}},
        {"start": "order", "n_iterations": 1},
    ],
)
def test_settings_of_the_organisation_are_those_of_the_control(rng, options):
    X = rng.random((12, 12, 6))
    org = hb.organize(X, **options)
    found = coherence_controls(X, org, n_seeds=1)
    chance = np.random.default_rng([0, 0])
    for tree in org.trees.values():
        chance.permutation(tree.n_items)
    for tree in org.trees.values():
        random_tree_like(tree, chance)
    entries = chance.permutation(X.ravel()).reshape(X.shape)
    again = hb.organize(entries, **options)
    for option in options:
        others = {name: value for name, value in options.items() if name != option}
        assert dict(hb.organize(entries, **others).trees) != dict(again.trees), f"{option} changes nothing"
    assert found.shuffled_entries[0] == hb.haar_l1(entries, again.trees)


def test_the_same_seed_gives_the_same_and_another_another():
    X = hb.datasets.synthetic_attention(12, 1, 3)
    org = hb.organize(X)
    one, again, other = (coherence_controls(X, org, n_seeds=1, seed=seed) for seed in (3, 3, 4))
    assert one.shuffled_items == again.shuffled_items
    assert one.shuffled_items != other.shuffled_items


def test_progress_is_told_seed_by_seed():
    X = hb.datasets.synthetic_attention(8, 1, 2)
    told = []
    coherence_controls(X, hb.organize(X), n_seeds=2, on_progress=lambda *step: told.append(step))
    assert told == [("controls", 1, 2), ("controls", 2, 2)]


def test_what_cannot_be_compared_is_refused():
    X = hb.datasets.synthetic_attention(8, 1, 2)
    org = hb.organize(X)
    for wrong in (0, None, 1.5, "2"):
        with pytest.raises(hb.SettingError, match="n_seeds must be a whole number from 1; found"):
            coherence_controls(X, org, n_seeds=wrong)
    for wrong in (-1, None, "x"):
        with pytest.raises(hb.SettingError, match="seed must be a whole number from 0; found"):
            coherence_controls(X, org, seed=wrong)
    for wrong in (None, 3, {}):
        with pytest.raises(hb.SettingError, match=r"organization must be an Organization; found .*\. Pass"):
            coherence_controls(X, wrong)
    with pytest.raises(hb.SettingError, match="on_progress must be a function; found 3"):
        coherence_controls(X, org, on_progress=3)
    with pytest.raises(hb.DataError, match="an entry that is not zero"):
        coherence_controls(np.zeros_like(X), org)
    with pytest.raises(hb.SettingError, match="control must be one of"):
        coherence_controls(X, org, n_seeds=1).ratios("luck")


def test_results_of_the_first_version_have_fewer_controls():
    X = hb.datasets.synthetic_attention(8, 1, 2)
    found = coherence_controls(X, hb.organize(X), n_seeds=1)
    assert found.made == CONTROLS
    known = result_type_of(found)
    old = known.fields_of(found)
    for name in ("same_shape_order", "average_linkage", "ward_linkage"):
        del old[name]
    read = known.result(1, old)
    assert read.made == CONTROLS[:4]
    assert "ward" not in repr(read)
    with pytest.raises(hb.SettingError, match="control must be one that was made"):
        read.ratios("ward_linkage")


def test_wide_trees_are_compared_with_wide_order_trees():
    # In this order the tree found is the order tree already, of two wide folders.
    X = np.repeat([1.0, 5.0], 4)[:, None] * np.ones(8)
    tree = hb.PartitionTree([[0] * 8, [0] * 4 + [1] * 4, list(range(8))])
    org = replace(hb.organize(X, n_iterations=1), trees={"query": tree, "key": tree})
    found = coherence_controls(X, org, n_seeds=1)
    assert found.ratios("same_shape_order").tolist() == [1.0]
