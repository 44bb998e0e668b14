import itertools

import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import SettingError, ShapeError
from tests.samples import causal_probabilities


@pytest.fixture(scope="module")
def batches():
    networks = [hb.datasets.synthetic_network(16, 2, 4, batch=batch) for batch in range(3)]
    return [n.tensor for n in networks], [hb.organize(n.tensor, mask=n.mask) for n in networks]


def test_distances_are_the_sum_over_batches_along_each_batchs_own_trees(batches):
    tensors, organizations = batches
    expected = sum(
        hb.tree_emd(tensor, {"query": org.trees["query"], "key": org.trees["key"]})
        for tensor, org in zip(tensors, organizations, strict=True)
    )
    found = hb.consensus(iter(tensors), organizations)
    np.testing.assert_allclose(found.distances, expected, rtol=1e-13)
    assert found.tree == hb.build_tree(hb.distance_affinity(expected))


def test_agreement_of_each_batch_is_its_distance_to_the_common_tree(batches):
    tensors, organizations = batches
    found = hb.consensus(tensors, organizations)
    expected = [hb.partition_distance(org.trees["head"], found.tree) for org in organizations]
    assert found.tree_distance.tolist() == expected
    upper = np.triu_indices(8, 1)
    own = hb.tree_emd(tensors[0], {a: organizations[0].trees[a] for a in ("query", "key")})
    others = found.distances - own
    assert found.distance_correlation[0] == pytest.approx(np.corrcoef(own[upper], others[upper])[0, 1])


def test_one_batch_agrees_with_itself(batches):
    tensors, organizations = batches
    org = organizations[0]
    found = hb.consensus(tensors[:1], [org])
    along_final_trees = hb.tree_emd(tensors[0], {a: org.trees[a] for a in ("query", "key")})
    assert found.tree == hb.build_tree(hb.distance_affinity(along_final_trees))
    assert np.isnan(found.distance_correlation[0])


def test_the_order_of_batches_does_not_matter(batches):
    tensors, organizations = batches
    forwards = hb.consensus(tensors, organizations)
    backwards = hb.consensus(tensors[::-1], organizations[::-1])
    assert forwards.tree == backwards.tree
    np.testing.assert_allclose(forwards.tree_distance, backwards.tree_distance[::-1], atol=1e-12)


def test_batches_may_differ_in_tokens_but_not_in_heads(batches):
    tensors, organizations = batches
    longer = hb.datasets.synthetic_network(20, 2, 4, batch=5)
    org = hb.organize(longer.tensor, mask=longer.mask)
    assert hb.consensus([tensors[0], longer.tensor], [organizations[0], org]).n_batches == 2
    fewer = hb.datasets.synthetic_network(16, 1, 4)
    with pytest.raises(ShapeError, match="same heads; found 8 and 4"):
        hb.consensus([tensors[0], fewer.tensor], [organizations[0], hb.organize(fewer.tensor)])


def test_missing_tensors_and_no_batches_are_refused(batches):
    tensors, organizations = batches
    with pytest.raises(ShapeError, match=r"found 1 for 3\. Pass as many"):
        hb.consensus(tensors[:1], organizations)
    # One more than there are organisations would be left out without a word; endless ones are not waited for.
    with pytest.raises(ShapeError, match="found more than 1 for 1"):
        hb.consensus(tensors[:2], organizations[:1])
    with pytest.raises(ShapeError, match="found more than 1 for 1"):
        hb.consensus(itertools.repeat(tensors[0]), organizations[:1])
    with pytest.raises(SettingError, match="at least one batch"):
        hb.consensus([], [])


def test_a_haar_consensus_lowers_the_norms_of_all_batches_together(rng):
    tensors = [causal_probabilities(rng, n, 6) for n in (7, 9)]
    organizations = [hb.organize(X, tree="haar") for X in tensors]
    found = hb.consensus(tensors, organizations)
    rows = []
    for X, org in zip(tensors, organizations, strict=True):
        others = {axis: tree for axis, tree in org.trees.items() if axis != "head"}
        rows.append(np.moveaxis(hb.haar_transform(X, others), 2, 0).reshape(6, -1))
    assert found.tree == hb.haar_tree(np.concatenate(rows, axis=1))
    assert found.affinity.shape == (6, 6)


def test_very_many_batches_are_thinned(rng, monkeypatch):
    X = causal_probabilities(rng, 8, 5)
    org = hb.organize(X, tree="haar")
    monkeypatch.setattr("haarbor.questionnaire._consensus._MOST_BYTES", X.nbytes)
    found = hb.consensus([X, X, X], [org] * 3)
    others = {axis: tree for axis, tree in org.trees.items() if axis != "head"}
    rows = np.moveaxis(hb.haar_transform(X, others), 2, 0).reshape(5, -1)[:, ::3]
    assert found.tree == hb.haar_tree(np.concatenate([rows] * 3, axis=1))
