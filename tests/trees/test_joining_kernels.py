import numpy as np
import pytest

from haarbor.trees._joining_kernels import folder_distances, greedy_joins
from tests.assertions import assert_close

INF = np.inf


def clusters(distances, threshold, penalty):
    found = greedy_joins(np.array(distances, float), threshold, penalty)
    return [np.flatnonzero(found == c).tolist() for c in dict.fromkeys(found.tolist())]


@pytest.mark.parametrize("n_folders", [1, 2, 4, 9])
def test_folder_distances_are_means_over_all_pairs(rng, n_folders):
    points = rng.normal(size=(9, 3))
    folder = np.concatenate([np.arange(n_folders), rng.integers(0, n_folders, 9 - n_folders)])
    expected = np.zeros((n_folders, n_folders))
    for f in range(n_folders):
        for g in range(n_folders):
            if f != g:
                pairs = [
                    np.linalg.norm(points[x] - points[y])
                    for x in np.flatnonzero(folder == f)
                    for y in np.flatnonzero(folder == g)
                ]
                expected[f, g] = np.mean(pairs)
    assert_close(folder_distances(points, folder, n_folders), expected)


def test_the_first_pair_joins_whatever_the_threshold():
    assert clusters([[INF, 5.0], [5.0, INF]], 0.0, 0.0) == [[0, 1]]


def test_joins_stop_at_the_threshold_itself():
    D = [[INF, 1, 9, 9], [1, INF, 9, 9], [9, 9, INF, 3], [9, 9, 3, INF]]
    assert clusters(D, 3.0, 9.0) == [[0, 1], [2], [3]]
    assert clusters(D, 3.1, 9.0) == [[0, 1], [2, 3]]


def test_a_single_folder_joins_a_pair_only_below_half_the_penalty():
    D = [[INF, 1, 4], [1, INF, 2], [4, 2, INF]]
    assert clusters(D, 10.0, 4.0) == [[0, 1], [2]]
    assert clusters(D, 10.0, 4.1) == [[0, 1, 2]]


def test_the_penalty_falls_by_half_for_each_folder_gathered():
    # Folder 3 meets a cluster of three: it must be nearer than a quarter of the penalty.
    D = [[INF, 1, 2, 3], [1, INF, 2, 3], [2, 2, INF, 9], [3, 3, 9, INF]]
    assert clusters(D, 10.0, 12.0) == [[0, 1, 2], [3]]
    assert clusters(D, 10.0, 12.1) == [[0, 1, 2, 3]]


def test_a_refused_folder_proposes_to_its_next_nearest():
    # Folder 2 is refused by {0, 1} and turns to 3, which is single.
    D = [[INF, 1, 3, 9], [1, INF, 9, 9], [3, 9, INF, 4], [9, 9, 4, INF]]
    assert clusters(D, 10.0, 5.0) == [[0, 1], [2, 3]]


def test_the_first_row_wins_a_tie():
    D = [[INF, 2, 2], [2, INF, 2], [2, 2, INF]]
    assert clusters(D, 2.0, 2.0) == [[0, 1], [2]]
