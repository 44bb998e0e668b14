import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import haarbor as hb
from haarbor.testing import attention_samples
from haarbor.trees import adjusted_mutual_information, halved_tree
from tests.assertions import assert_same_trees
from tests.reference import haar_tree as reference
from tests.samples import causal_probabilities, random_tree

AXES = ("query", "key", "head")


def order_trees(shape, axes=AXES):
    return {axis: halved_tree(n) for axis, n in zip(axes, shape, strict=True)}


@settings(max_examples=25)
@given(
    attention_samples(min_tokens=2, min_heads=1, max_heads=7),
    st.sampled_from([0.0, 0.01, 0.3]),
    st.booleans(),
)
def test_the_objective_never_rises(sample, restraint, given_start):
    X = sample.tensor
    rng = np.random.default_rng(0)
    start = {axis: random_tree(rng, n) for axis, n in zip(AXES, X.shape, strict=True)}
    org = hb.organize(
        X, tree="haar", restraint=restraint, start=start if given_start else "auto", tolerance=0.0
    )
    first = {axis: trees[0] for axis, trees in org.history.items()}
    assert_same_trees(first, start if given_start else order_trees(X.shape))
    at_start = 1 + restraint * sum(tree.relative_depth for tree in first.values())
    rounding = 1e-5 if X.dtype == np.float32 else 1e-11
    falls = np.diff([at_start, *org.convergence(X).objective])
    assert (falls <= rounding).all()
    if restraint == 0:
        coherence = [hb.haar_l1(X, first), *org.convergence(X).coherence]
        assert (np.diff(coherence) <= rounding * coherence[0]).all()
    assert org.converged
    assert org.period == 1


@pytest.mark.parametrize("n_axes", [2, 3, 4])
def test_one_pass_is_that_of_plain_python(rng, n_axes):
    """Each axis by linkage and rotations of the reference, along the newest trees of the others."""
    shape = (5, 6, 4, 3)[:n_axes]
    axes = ("a", "b", "head", "d")[:n_axes] if n_axes > 2 else ("query", "key")
    X = rng.normal(size=shape)
    org = hb.organize(X, axes, tree="haar", restraint=0.0, n_iterations=1)
    trees = order_trees(shape, axes)
    norm = hb.haar_l1(X, trees, axes)
    for axis in sorted(axes, key=lambda name: shape[axes.index(name)]):
        others = {name: tree for name, tree in trees.items() if name != axis}
        place = axes.index(axis)
        rows = np.moveaxis(hb.haar_transform(X, others, axes), place, 0).reshape(shape[place], -1).tolist()
        tree = descended(reference.haar_linkage(rows), rows)
        if reference.norm(tree, rows) < norm:
            norm = reference.norm(tree, rows)
            trees[axis] = hb.PartitionTree(reference.levels_of(tree, shape[place]))
    assert_same_trees(org.trees, trees)
    assert org.convergence(X).coherence[0] == pytest.approx(norm, rel=1e-12)


def descended(tree, rows):
    """Best rotation again and again; the same as rotating many at once where they do not touch."""
    while True:
        best = min(reference.rotations_of(tree), key=lambda other: reference.norm(other, rows), default=tree)
        if reference.norm(best, rows) >= reference.norm(tree, rows) * (1 - 1e-12):
            return tree
        tree = best


def test_objective_and_depth_by_hand():
    # Two pairs of equal columns, out of order; the rows are all alike.
    X = np.array([[0.0, 4.0, 0.0, 4.0], [0.0, 4.0, 0.0, 4.0]])
    org = hb.organize(X, tree="haar", restraint=0.1)
    assert {frozenset(f.tolist()) for f in org.trees["key"].folders(1)} == {
        frozenset({0, 2}),
        frozenset({1, 3}),
    }
    found = org.convergence(X)
    # On the order trees: constant 2 * 8 / sqrt(8), and two pairs of difference 4, each sqrt(2) sqrt(1/2) 4.
    assert hb.haar_l1(X, order_trees(X.shape, ("query", "key"))) == pytest.approx(16 / 8**0.5 + 8)
    # On the new one: the same constant, and one difference of 4 between the pairs, sqrt(2) * 4.
    assert found.coherence[-1] == pytest.approx(16 / 8**0.5 + 4 * 2**0.5)
    ratio = (16 / 8**0.5 + 4 * 2**0.5) / (16 / 8**0.5 + 8)
    assert found.objective[-1] == pytest.approx(ratio + 0.1 * 2)


def test_other_builders_have_no_objective(rng):
    X = causal_probabilities(rng, 6, 3)
    assert hb.organize(X).convergence(X).objective is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(rng, dtype):
    X = causal_probabilities(rng, 33, 9, dtype)
    one, many = (hb.organize(X, tree="haar", engine=hb.CpuEngine(n)) for n in (1, 3))
    assert one.history == many.history
    for axis in AXES:
        assert one.affinities[axis].tobytes() == many.affinities[axis].tobytes()


def test_scaling_by_a_power_of_two_changes_no_tree(rng):
    X = causal_probabilities(rng, 12, 5)
    for power in (-900, -3, 40, 900):
        assert hb.organize(X * 2.0**power, tree="haar").history == hb.organize(X, tree="haar").history


def test_permuting_items_and_start_permutes_the_trees(rng):
    X = rng.normal(size=(7, 8, 6))
    orders = {axis: rng.permutation(n) for axis, n in zip(AXES, X.shape, strict=True)}
    start = {axis: random_tree(rng, n) for axis, n in zip(AXES, X.shape, strict=True)}
    moved_start = {axis: tree.permuted(orders[axis]) for axis, tree in start.items()}
    found = hb.organize(X, tree="haar", start=start)
    moved = hb.organize(X[np.ix_(*orders.values())], tree="haar", start=moved_start)
    assert_same_trees(moved.trees, {axis: t.permuted(orders[axis]) for axis, t in found.trees.items()})


def test_masked_logits_do_not_matter(rng):
    X, mask = rng.normal(size=(9, 9, 4)), np.tri(9, dtype=bool)
    spoilt = np.where(mask[:, :, None], X, -np.inf)
    one, two = (hb.organize(T, tree="haar", mask=mask, content="logits") for T in (X, spoilt))
    assert one.history == two.history
    assert one.settings.masked_entries == "row mean of valid logits"


def test_planted_groups_come_out(rng):
    groups = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
    heads = rng.normal(size=(3, 12, 12))[groups].transpose(1, 2, 0) + 0.01 * rng.normal(size=(12, 12, 9))
    folders = {
        frozenset(f.tolist()) for level in hb.organize(heads, tree="haar").trees["head"] for f in level
    }
    assert {frozenset(np.flatnonzero(groups == g).tolist()) for g in range(3)} <= folders


def questionnaire(seed):
    """Answers of 200 persons to 10 questions of two scales in a random order, with much noise."""
    rng = np.random.default_rng(seed)
    scales = rng.permutation(np.repeat([0, 1], 5))
    return rng.normal(size=(2, 200))[scales] + rng.normal(size=(10, 200)), scales


@pytest.mark.parametrize("seed", range(3))
def test_scales_of_few_questions_to_many_persons_come_out(seed):
    """With the persons first their tree fits the order of the questions, which then never changes."""
    X, scales = questionnaire(seed)
    tree = hb.organize(X, ("question", "person"), tree="haar").trees["question"]
    assert adjusted_mutual_information(tree.levels[1], scales) == pytest.approx(1)


@given(st.permutations(range(4)))
@settings(max_examples=10)
def test_the_order_of_axes_of_different_sizes_does_not_matter(places):
    X = np.random.default_rng(0).normal(size=(3, 5, 4, 6))
    axes = ("a", "b", "c", "d")
    found = hb.organize(X, axes, tree="haar")
    turned = hb.organize(X.transpose(places), [axes[place] for place in places], tree="haar")
    assert_same_trees(turned.trees, found.trees)


def test_of_axes_of_one_size_the_heads_come_first(rng):
    X = rng.normal(size=(5, 5, 5))
    one = hb.organize(X, tree="haar", n_iterations=1, restraint=0.0)
    alone = hb.haar_tree(
        np.moveaxis(hb.haar_transform(X, {a: halved_tree(5) for a in AXES[:2]}), 2, 0).reshape(5, -1),
        restraint=0.0,
    )
    assert one.trees["head"] == alone


@pytest.mark.parametrize("tree", ["flexible", "binary"])
def test_other_builders_start_from_given_trees(rng, tree):
    X = causal_probabilities(rng, 9, 5)
    start = {"query": random_tree(rng, 9)}
    org = hb.organize(X, tree=tree, start=start, n_iterations=1)
    usual = hb.organize(X, tree=tree, n_iterations=1)
    assert org.history["query"][0] == start["query"]
    assert org.history["key"][0] == usual.history["key"][0]
    assert set(org.initial_affinities) == {"key"}
    assert org.settings.start == "given"
    # The head tree is that of distances along the trees it was started with.
    both = {"query": start["query"], "key": usual.history["key"][0]}
    affinity = hb.distance_affinity(hb.tree_emd(X, both))
    assert org.history["head"][0] == hb.build_tree(affinity, tree=tree)
    ordered = hb.organize(X, tree=tree, start="order", n_iterations=1)
    assert ordered.history["key"][0] == halved_tree(9)
    assert ordered.initial_affinities == {}


def test_the_loop_ends_at_the_tolerance_or_the_number_of_iterations(rng):
    X = causal_probabilities(rng, 24, 8)
    whole = hb.organize(X, tree="haar", tolerance=0.0)
    assert whole.n_iterations > 2
    short = hb.organize(X, tree="haar", n_iterations=1)
    assert (short.n_iterations, short.converged) == (1, False)
    assert hb.organize(X, tree="haar", tolerance=1.0).n_iterations == 1
    assert whole.settings.n_iterations == 100
    assert hb.organize(X).settings.n_iterations == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "affinity"}, "start must be one of 'order', 'given'; found 'affinity'"),
        ({"start": 3}, "start must be 'auto', 'order', 'affinity' or a mapping"),
        ({"tolerance": -1}, "tolerance must lie between 0 and 1; found -1"),
        ({"restraint": 2}, "restraint must lie between 0 and 1; found 2"),
    ],
)
def test_bad_settings_are_refused(rng, options, message):
    with pytest.raises(hb.SettingError, match=message):
        hb.organize(rng.random((3, 3)), tree="haar", **options)


def test_start_trees_must_fit(rng):
    X = rng.random((3, 4))
    with pytest.raises(hb.ShapeError, match="must have 4 items like the tensor; found 3"):
        hb.organize(X, tree="haar", start={"key": halved_tree(3)})
    with pytest.raises(hb.TreeError, match="found one on 'head'"):
        hb.organize(X, start={"head": halved_tree(3)})


def test_hard_inputs():
    with pytest.raises(hb.DataError, match=r"\(query 0, key 1\)"):
        hb.organize([[1.0, np.nan], [1.0, 2.0]], tree="haar")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (np.zeros((3, 4, 2)), np.ones((4, 4)), np.broadcast_to([0.1, 0.1, 0.5], (5, 5, 3))):
            org = hb.organize(X, tree="haar")
            assert org.converged
            assert np.isfinite(org.convergence(X).objective).all()
            for axis in org.axes:
                assert np.isfinite(org.affinities[axis]).all()
    constant = hb.organize(np.broadcast_to([0.1, 0.1, 0.5, 0.9], (5, 5, 4)), tree="haar")
    assert [0, 1] in [f.tolist() for f in constant.trees["head"].folders(-2)]
