import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close, assert_same_tree, assert_same_trees
from tests.reference import questionnaire as reference
from tests.samples import causal_probabilities

SMALL = {"n_iterations": 3}


def assert_matches_the_reference(X, axes, last, **settings):
    """Every tree of every iteration, and the last affinities."""
    by_place = {
        name: {axes.index(axis): number for axis, number in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in settings.items()
    }
    history, affinities, initial = reference.organize(X, last=axes.index(last), **by_place)
    org = hb.organize(X, axes, **settings)
    for place, axis in enumerate(axes):
        found = list(org.history[axis])
        # A settled loop ends early; from there on its last trees repeat.
        if org.converged:
            found += found[-1:] * (settings["n_iterations"] - org.n_iterations)
        assert len(found) == len(history[place])
        for tree, levels in zip(found, history[place], strict=True):
            assert_same_tree(tree, levels)
        assert org.trees[axis] == org.history[axis][-1]
        assert_close(org.affinities[axis], affinities[place])
        if axis != last:
            assert_close(org.initial_affinities[axis], initial[place])
    assert set(org.initial_affinities) == {axis for axis in axes if axis != last}
    return org


@pytest.mark.parametrize("refine", ["latest", "published"])
@pytest.mark.parametrize("initial", ["cosine", "gaussian"])
def test_network_trees_match_the_reference(rng, refine, initial):
    X = causal_probabilities(rng, 9, 7)
    assert_matches_the_reference(
        X, ("query", "key", "head"), "head", n_iterations=3, refine=refine, initial=initial
    )


@pytest.mark.parametrize("refine", ["latest", "published"])
@pytest.mark.parametrize("shape", [(5, 8, 6), (8, 3, 9), (13, 4, 5)])
def test_other_numbers_of_keys_than_queries_match_the_reference(rng, shape, refine):
    X = rng.normal(size=shape) + 0.5
    axes = ("query", "key", "head")
    settings = {"alpha": 0.5, "beta": 0.7, "tree_constant": 0.6, "refine": refine}
    assert_matches_the_reference(X, axes, "head", n_iterations=3, **settings)


def test_the_two_ways_to_refine_differ(rng):
    # Without this the comparison above could not tell them apart.
    for _ in range(20):
        X = causal_probabilities(rng, 9, 7)
        latest, published = (hb.organize(X, refine=r) for r in ("latest", "published"))
        assert set(published.history["head"]) == {published.history["head"][0]}
        if latest.trees["head"] != published.trees["head"]:
            return
    pytest.fail("refine='latest' gave the published head tree 20 times over")


@pytest.mark.parametrize("refine", ["latest", "published"])
@pytest.mark.parametrize("tree", ["flexible", "binary"])
def test_matrix_trees_match_the_reference(rng, tree, refine):
    for _ in range(3):
        X = rng.uniform(0.1, 1, size=(10, 8))
        settings = {"alpha": 1.0, "beta": 0.0, "tree": tree, "refine": refine}
        assert_matches_the_reference(X, ("query", "key"), "key", n_iterations=4, **settings)


@pytest.mark.parametrize("cut", ["zero", "balanced"])
def test_binary_network_trees_match_the_reference(rng, cut):
    X = rng.uniform(0.1, 1, size=(6, 5, 7))
    axes = ("query", "key", "head")
    assert_matches_the_reference(X, axes, "head", n_iterations=2, tree="binary", cut=cut)


@pytest.mark.parametrize("refine", ["latest", "published"])
def test_four_axes_match_the_reference(rng, refine):
    X = rng.uniform(0.1, 1, size=(3, 5, 4, 4))
    axes = ("batch", "query", "key", "head")
    assert_matches_the_reference(X, axes, "head", n_iterations=2, refine=refine)


def test_the_last_axis_goes_without_initial_tree_where_none_is_the_head(rng):
    X = rng.uniform(0.1, 1, size=(5, 6, 4))
    assert_matches_the_reference(X, ("layer", "query", "key"), "key", n_iterations=2)


def test_exponents_can_differ_from_axis_to_axis(rng):
    X = rng.uniform(0.1, 1, size=(5, 6, 7))
    alpha = {"query": 0.0, "key": 1.0, "head": 0.5}
    beta = {"query": 1.0, "key": 0.0, "head": 0.3}
    axes = ("query", "key", "head")
    org = assert_matches_the_reference(X, axes, "head", n_iterations=2, alpha=alpha, beta=beta)
    assert org.settings.alpha == alpha
    assert org.settings.beta == beta


@pytest.mark.parametrize("axes", [("head", "query", "key"), ("query", "head", "key")])
@pytest.mark.parametrize("refine", ["latest", "published"])
def test_the_head_axis_can_stand_anywhere(rng, axes, refine):
    X = causal_probabilities(rng, 8, 6)
    usual = ("query", "key", "head")
    expected = hb.organize(X, refine=refine, n_iterations=2)
    turned = hb.organize(
        np.transpose(X, [usual.index(axis) for axis in axes]), axes, refine=refine, n_iterations=2
    )
    assert_same_trees(turned.trees, expected.trees)
    assert turned.axes == axes
    for axis in usual:
        assert turned.history[axis] == expected.history[axis]
        assert_close(turned.affinities[axis], expected.affinities[axis])


def test_history_begins_with_the_initial_trees(rng):
    org = hb.organize(causal_probabilities(rng, 8, 5), n_iterations=1)
    assert {axis: len(trees) for axis, trees in org.history.items()} == {"query": 2, "key": 2, "head": 1}
    for axis in ("query", "key"):
        assert org.history[axis][0] == hb.build_tree(org.initial_affinities[axis])
    assert org.n_iterations == 1


def test_a_settled_loop_stops_early_and_says_so(rng):
    blocks = np.kron(np.eye(3), np.ones((4, 4)))[:, :, None] * rng.uniform(1, 2, size=6) + 0.1
    X = blocks + 0.01 * rng.random((12, 12, 6))
    org = hb.organize(X, n_iterations=50)
    assert org.converged
    assert org.period == 1
    assert org.n_iterations < 50
    for axis in ("query", "key"):
        assert org.history[axis][-1] == org.history[axis][-2]
    once_more = hb.organize(X, n_iterations=org.n_iterations + 5)
    assert_same_trees(once_more.trees, org.trees)
    assert "converged)" in repr(org)


def test_an_unsettled_loop_makes_all_its_iterations(rng):
    X = causal_probabilities(rng, 14, 8)
    org = hb.organize(X, n_iterations=1)
    assert not org.converged
    assert repr(org) == "Organization(14 query x 14 key x 8 head; 1 iteration, not converged)"
    assert len(hb.organize(X, n_iterations=2).history["head"]) == 2


def test_a_loop_that_cycles_tells_its_period_and_runs_to_the_end():
    for seed in range(400):
        X = np.random.default_rng(seed).uniform(0.1, 1, size=(7, 6))
        org = hb.organize(X, n_iterations=25)
        if org.period > 1:
            break
    else:
        pytest.fail("no matrix among 400 cycled")
    assert not org.converged
    assert org.n_iterations == 25
    trees = org.history["query"]
    assert trees[-1] == trees[-1 - org.period]
    assert all(trees[-1] != trees[-1 - back] for back in range(1, org.period))
    # Before the trees have come back once there is nothing to say.
    first = next(i for i in range(1, len(trees)) if trees[i] in trees[:i])
    assert hb.organize(X, n_iterations=first - 1).period == 0
    assert hb.organize(X, n_iterations=first).period == org.period
    assert f"period {org.period}" in repr(org)


def test_settings_travel_with_the_result(rng):
    X = causal_probabilities(rng, 6, 4, np.float32)
    org = hb.organize(
        X, n_iterations=2, initial="gaussian", alpha=1, beta=0.5, tree="binary", cut="balanced",
        tree_constant=2, refine="published",
    )  # fmt: skip
    assert org.settings.to_dict() == {
        "axes": ("query", "key", "head"), "n_iterations": 2, "initial": "gaussian",
        "alpha": {"query": 1.0, "key": 1.0, "head": 1.0}, "beta": {"query": 0.5, "key": 0.5, "head": 0.5},
        "tree": "binary", "tree_constant": 2.0, "cut": "balanced", "refine": "published",
        "restraint": 0.01, "tolerance": 1e-4, "start": "affinity",
        "engine": "cpu", "precision": "float32", "masked_entries": "unmasked", "approximate": None,
    }  # fmt: skip


def test_the_defaults_are_those_of_the_contract(rng):
    settings = hb.organize(causal_probabilities(rng, 5, 3)).settings
    assert (settings.n_iterations, settings.initial, settings.tree) == (3, "cosine", "flexible")
    assert (settings.alpha["head"], settings.beta["head"], settings.tree_constant) == (0.0, 1.0, 1.0)
    assert (settings.refine, settings.cut, settings.precision) == ("latest", "zero", "float64")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_iterations": 0}, r"n_iterations must be a whole number in 1\.\.10000; found 0"),
        ({"n_iterations": -1}, r"n_iterations must be a whole number in 1\.\.10000; found -1"),
        ({"n_iterations": 2.0}, r"n_iterations must be a whole number in 1\.\.10000; found 2.0"),
        ({"n_iterations": True}, r"n_iterations must be a whole number in 1\.\.10000; found True"),
        ({"n_iterations": 10**30}, r"n_iterations must be a whole number in 1\.\.10000; found 1000000"),
        ({"initial": "euclid"}, "initial must be one of 'cosine', 'gaussian'; found 'euclid'"),
        ({"tree": "oak"}, "tree must be one of 'flexible', 'binary', 'haar'; found 'oak'"),
        ({"cut": "half"}, "cut must be one of 'zero', 'balanced'; found 'half'"),
        ({"refine": "never"}, "refine must be one of 'latest', 'published'; found 'never'"),
        ({"tree_constant": 0}, "tree_constant must be positive and finite; found 0"),
        ({"tree_constant": -1.0}, "tree_constant must be positive and finite; found -1"),
        ({"tree_constant": float("nan")}, "tree_constant must be positive and finite; found nan"),
        ({"tree_constant": float("inf")}, "tree_constant must be positive and finite; found inf"),
        ({"tree_constant": "large"}, "tree_constant must be"),
        ({"tree_constant": None}, "tree_constant must be"),
        ({"alpha": float("nan")}, "alpha of axis 'query' must lie between -1000 and 1000; found nan"),
        (
            {"alpha": {"query": 1.0}},
            r"alpha must be one number or one for each of .* missing \['key', 'head'\]",
        ),
        ({"beta": {"query": 1, "key": 1, "head": 1, "layer": 1}}, r"unknown \['layer'\]"),
        (
            {"engine": "tpu"},
            "engine must be 'auto', 'cpu', 'gpu', 'cluster' or an engine object; found 'tpu'",
        ),
        ({"engine": 3}, "must have a name and an l1_sums method; found int"),
        ({"content": "values"}, "content must be one of 'auto', 'logits', 'probabilities'; found 'values'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(hb.SettingError, match=message):
        hb.organize(np.ones((3, 3, 2)) + np.arange(2), **settings)


def test_numpy_integers_are_whole_numbers(rng):
    assert hb.organize(rng.random((4, 4)), n_iterations=np.int64(1)).n_iterations == 1


def test_one_axis_is_not_enough():
    with pytest.raises(hb.ShapeError, match="at least two axes"):
        hb.organize([1.0, 2.0], axes=("query",))
