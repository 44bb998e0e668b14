import numpy as np

import haarbor as hb
from haarbor.analysis._head_groups import alike_groups, outlying_heads


def distances_of(points):
    points = np.asarray(points, dtype=float)
    return np.abs(points[:, None] - points[None])


def test_groups_are_the_largest_folders_that_are_tight_enough():
    # Heads 0 to 2 within 1, heads 3 and 4 within 2, head 5 far: the median of the 15 pairs is 50.
    far = distances_of([0, 0.5, 1, 50, 52, 300])
    tree = hb.PartitionTree([[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 2], [0, 0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5]])
    assert [group.tolist() for group in alike_groups(tree, far)] == [[0, 1, 2], [3, 4]]
    assert [group.tolist() for group in alike_groups(tree, far, share=0.03)] == [[0, 1, 2]]
    assert [group.tolist() for group in alike_groups(tree, far, share=0.011)] == [[0, 1]]
    assert alike_groups(tree, far, share=0.001) == []


def test_a_group_is_judged_by_its_mean_distance_not_by_its_farthest_pair():
    # The folder's pairs are 1, 1 and 2 apart, 4/3 on average; the median of all pairs is 100.
    far = distances_of([0, 1, 2, 100, 200, 300])
    tree = hb.PartitionTree([[0] * 6, [0, 0, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5]])
    assert [group.tolist() for group in alike_groups(tree, far, share=0.0134)] == [[0, 1, 2]]
    assert alike_groups(tree, far, share=0.0133) == []


def test_two_heads_are_no_group_and_three_no_outlier():
    assert alike_groups(hb.PartitionTree([[0, 0], [0, 1]]), distances_of([0, 1])) == []
    assert outlying_heads(distances_of([0, 1, 90])).size == 0


def test_outliers_are_those_beyond_the_whiskers_farthest_first():
    # Nearest distances 1, 1, 1, 1, 1, 1, 30, 40: quartiles 1 and 8.25, whisker at 19.125.
    places = [0, 1, 2, 3, 4, 5, 35, 75]
    assert outlying_heads(distances_of(places)).tolist() == [7, 6]
    assert outlying_heads(distances_of(range(8))).size == 0
