import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close
from tests.samples import causal_probabilities


@pytest.fixture
def tensor(rng):
    return causal_probabilities(rng, 10, 7)


@pytest.fixture
def org(tensor):
    return hb.organize(tensor, n_iterations=2)


def test_order_keeps_folders_together_and_sorts_them_by_the_second_eigenvector(org):
    for axis in org.axes:
        tree, order = org.trees[axis], org.order(axis)
        assert sorted(order.tolist()) == list(range(tree.n_items))
        place = np.argsort(order)
        second = org.spectrum(axis).eigenvectors[:, 1]
        for folder in range(tree.n_folders):
            places = np.sort(place[tree.items(folder)])
            assert (np.diff(places) == 1).all()
            children = sorted(tree.children(folder), key=lambda child: place[tree.items(child)].min())
            means = [second[tree.items(child)].mean() for child in children]
            assert means == sorted(means)


def test_rearranged_puts_every_axis_in_order(org, tensor):
    q, k, h = (org.order(axis) for axis in org.axes)
    assert (org.rearranged(tensor) == tensor[q][:, k][:, :, h]).all()
    labels = np.arange(tensor.size).reshape(tensor.shape)
    assert org.rearranged(labels).dtype == labels.dtype


def test_rearranged_blocks_stand_together(rng):
    shuffle = rng.permutation(12)
    blocks = np.kron(np.eye(3), np.ones((4, 4))) + 0.05
    X = (blocks + 0.01 * rng.random((12, 12)))[np.ix_(shuffle, shuffle)]
    found = hb.organize(X).rearranged(X) > 0.5
    assert (np.abs(np.diff(found.astype(int), axis=0)).sum(axis=0) <= 2).all()
    changes = np.abs(np.diff(found.astype(int), axis=0)).any(axis=1)
    assert changes.sum() == 2


def test_rearranged_refuses_another_shape(org):
    with pytest.raises(hb.ShapeError, match=r"must have shape \(10, 10, 7\); found \(10, 10\)"):
        org.rearranged(np.ones((10, 10)))


def test_embedding_is_the_diffusion_map_of_the_last_affinity(org):
    found = org.embedding("head", dimensions=2, time=3)
    assert_close(found, hb.diffusion_map(org.affinities["head"], 2, 3).coordinates)
    assert org.embedding("query").shape == (10, 3)
    assert org.embedding("head", dimensions=30).shape == (7, 6)
    values = org.spectrum("head").eigenvalues
    assert (np.diff(values) <= 0).all()


def test_affinities_are_made_of_distances_along_the_trees(org, tensor):
    # Keys are last to be refined: they were compared along the final query and head trees.
    trees = {"query": org.trees["query"], "head": org.trees["head"]}
    assert_close(org.affinities["key"], hb.distance_affinity(hb.tree_emd(tensor, trees)))
    assert org.trees["key"] == hb.build_tree(org.affinities["key"])


def test_trees_of_an_iteration(org):
    for iteration in (1, 2):
        trees = org.iteration_trees(iteration)
        assert trees["head"] is org.history["head"][iteration - 1]
        assert trees["query"] is org.history["query"][iteration]
    assert org.iteration_trees(2) == dict(org.trees)


@pytest.mark.parametrize("iteration", [0, 3, -1])
def test_unknown_iterations_are_refused(org, iteration):
    with pytest.raises(
        hb.SettingError, match=rf"iteration must be a whole number in 1\.\.2; found {iteration}"
    ):
        org.iteration_trees(iteration)


def test_convergence_measures_change_and_coherence(org, tensor):
    found = org.convergence(tensor)
    assert found.iterations.tolist() == [1, 2]
    for axis in ("query", "key"):
        trees = org.history[axis]
        expected = [hb.partition_distance(trees[i], trees[i + 1]) for i in range(2)]
        assert_close(found.tree_change[axis], expected, scale=1.0)
    head = found.tree_change["head"]
    assert np.isnan(head[0])
    assert head[1] == hb.partition_distance(*org.history["head"])
    assert_close(found.coherence, [hb.haar_l1(tensor, org.iteration_trees(i)) for i in (1, 2)])


def test_organised_trees_fit_better_than_shuffled_ones(rng):
    X = hb.datasets.synthetic_attention(n_tokens=24, n_layers=2, heads_per_layer=4)
    org = hb.organize(X)
    coherence = org.convergence(X).coherence[-1]
    for _ in range(5):
        shuffled = {
            axis: hb.PartitionTree(tree.levels[:, rng.permutation(tree.n_items)])
            for axis, tree in org.trees.items()
        }
        assert coherence < hb.haar_l1(X, shuffled)


@pytest.mark.parametrize("ask", ["order", "embedding", "spectrum"])
def test_unknown_axes_are_refused(org, ask):
    with pytest.raises(hb.SettingError, match=r"axis must be one of 'query', 'key', 'head'; found 'layer'"):
        getattr(org, ask)("layer")


def test_the_result_cannot_be_changed(org):
    with pytest.raises(AttributeError):
        org.period = 1
    for affinity in (*org.affinities.values(), *org.initial_affinities.values()):
        with pytest.raises(ValueError, match="read-only"):
            affinity[0, 0] = 2


def test_shape_and_axes_are_those_of_the_tensor(org):
    assert org.shape == (10, 10, 7)
    assert org.axes == ("query", "key", "head")
    assert all(org.affinities[axis].shape == (n, n) for axis, n in zip(org.axes, org.shape, strict=True))
    assert all(org.affinities[axis].dtype == np.float64 for axis in org.axes)
