import numpy as np
import pytest

import haarbor as hb
from haarbor.compare._cross_coherence import coherence_sums
from tests.compare.networks import attention


def test_the_three_norms_are_those_of_the_expansions():
    X, Y = attention(0, seed=0), attention(0, seed=3)
    own, other = hb.organize(X), hb.organize(Y)
    found = coherence_sums(X, own, other, np.random.default_rng(0))
    axes = ("query", "key", "head")
    assert found[0] == pytest.approx(float(np.abs(hb.haar_transform(X, own.trees, axes)).sum()))
    mixed = {"query": other.trees["query"], "key": other.trees["key"], "head": own.trees["head"]}
    assert found[1] == pytest.approx(float(np.abs(hb.haar_transform(X, mixed, axes)).sum()))
    assert found[2] > found[0]


def test_its_own_trees_are_as_good_as_its_own():
    X = attention(0)
    own = hb.organize(X)
    one, two, _ = coherence_sums(X, own, own, np.random.default_rng(0))
    assert one == two
