import pytest
from scipy.cluster.hierarchy import linkage

from haarbor import PartitionTree, TreeError
from haarbor.trees._linkage import levels_of_linkage
from tests.reference.folders import same_partitions


def test_shallow_leaves_are_carried_down():
    levels = levels_of_linkage([[1, 2, 0.1, 2], [0, 4, 0.2, 3], [3, 5, 0.3, 4]]).tolist()
    assert same_partitions(levels, [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 2], [0, 1, 2, 3]])


def test_two_items_have_two_levels():
    assert same_partitions(levels_of_linkage([[0, 1, 1.0, 2]]).tolist(), [[0, 0], [0, 1]])


@pytest.mark.parametrize(
    ("linkage", "message"),
    [
        ([[0, 1, 1.0]], r"shape \(n - 1, 4\); found \(1, 3\)"),
        ([], r"shape \(n - 1, 4\); found"),
        ([[0, 1, 1.0, 2], [0, 2, 1.0, 3]], "join every earlier cluster exactly once"),
        ([[0, 3, 1.0, 2], [1, 2, 1.0, 3]], "join every earlier cluster exactly once"),
        ([[0, -1, 1.0, 2]], "join every earlier cluster exactly once"),
        ([[0.5, 1.5, 1.0, 2]], "join every earlier cluster exactly once"),
        ([[0, float("nan"), 1.0, 2]], "join every earlier cluster exactly once"),
        ([[0, 1e300, 1.0, 2]], "join every earlier cluster exactly once"),
        ([["0", "1", "1", "2"]], "must hold real numbers; found dtype"),
        (None, "must hold real numbers; found None. .*scipy.cluster.hierarchy.linkage"),
    ],
)
def test_what_is_not_a_linkage_is_refused(linkage, message):
    with pytest.raises(TreeError, match=message):
        levels_of_linkage(linkage)


@pytest.mark.parametrize("method", ["single", "complete", "average"])
def test_linkage_folders_are_those_of_the_dendrogram(rng, method):
    joins = linkage(rng.normal(size=(9, 2)), method)
    clusters = {item: {item} for item in range(9)}
    for step, (left, right, _, size) in enumerate(joins):
        clusters[9 + step] = clusters[int(left)] | clusters[int(right)]
        assert len(clusters[9 + step]) == size
    tree = PartitionTree.from_linkage(joins)
    found = {tuple(items.tolist()) for partition in tree for items in partition}
    assert found == {tuple(sorted(items)) for items in clusters.values()}
