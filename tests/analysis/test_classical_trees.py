import pytest
from scipy.cluster.hierarchy import linkage

import haarbor as hb
from haarbor.analysis import classical_trees


@pytest.mark.parametrize("method", ["average", "ward"])
def test_every_axis_has_the_linkage_of_its_slices(rng, method):
    X = rng.normal(size=(5, 1, 7))
    found = classical_trees(X, ("a", "b", "c"), method)
    assert found["a"] == hb.PartitionTree.from_linkage(linkage(X.reshape(5, 7), method))
    assert found["c"] == hb.PartitionTree.from_linkage(linkage(X.reshape(5, 7).T, method))
    assert found["b"].n_items == 1


def test_other_methods_are_refused(rng):
    with pytest.raises(hb.SettingError, match="method must be one of 'average', 'ward'; found 'single'"):
        classical_trees(rng.random((2, 2)), ("a", "b"), "single")
