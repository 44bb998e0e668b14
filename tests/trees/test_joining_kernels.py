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


@pytest.mark.parametrize(("n_items", "n_folders"), [(40, 40), (40, 17), (520, 90)])
def test_many_folders_have_the_same_means_on_both_sides_of_the_diagonal(rng, n_items, n_folders):
    points = rng.normal(size=(n_items, 5))
    folder = np.concatenate([np.arange(n_folders), rng.integers(0, n_folders, n_items - n_folders)])
    share = np.equal.outer(np.arange(n_folders), folder) / np.bincount(folder)[:, None]
    expected = share @ np.linalg.norm(points[:, None] - points, axis=2) @ share.T
    np.fill_diagonal(expected, 0.0)
    found = folder_distances(points, folder, n_folders)
    assert_close(found, expected)
    assert (found == found.T).all()


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


def test_folder_distances_by_hand():
    # Folder 1 holds the items 0 and 3, and folder 0 the items 1 and 2.
    places = np.array([[0.0], [1.0], [3.0], [10.0]])
    assert folder_distances(places, np.array([1, 0, 0, 1]), 2).tolist() == [[0.0, 5.0], [5.0, 0.0]]


@pytest.mark.parametrize("n_folders", [1, 2, 40, 599, 600])
def test_distances_of_many_items_do_not_depend_on_threads(rng, monkeypatch, n_folders):
    points = rng.normal(size=(600, 5))
    folder = rng.permutation(
        np.concatenate([np.arange(n_folders), rng.integers(0, n_folders, 600 - n_folders)])
    )
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("HAARBOR_NUM_THREADS", threads)
        found.append(folder_distances(points, folder, n_folders))
    assert found[0].tobytes() == found[1].tobytes()
    share = (folder[None, :] == np.arange(n_folders)[:, None]) / np.bincount(folder)[:, None]
    expected = share @ np.linalg.norm(points[:, None] - points[None], axis=2) @ share.T
    np.fill_diagonal(expected, 0)
    assert_close(found[0], expected)


def test_equal_items_are_at_distance_zero(rng):
    points = rng.normal(size=(30, 11))
    points[7] = points[21]
    found = folder_distances(points, np.arange(30), 30)
    assert found[7, 21] == found[21, 7] == 0
    assert (found == 0).sum() == 32


@pytest.mark.parametrize("penalty", [0.5, 2.0, 50.0])
def test_joins_are_those_of_a_plain_loop(rng, penalty):
    points = rng.integers(0, 6, size=(40, 2)) + 0.0
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distances, INF)
    assert greedy_joins(distances.copy(), 3.0, penalty).tolist() == plain_joins(
        distances.copy(), 3.0, penalty
    )


def plain_joins(distances, threshold, penalty):
    """One round of joins, all proposals looked at again after each."""
    n = len(distances)
    clusters, joined = [{f} for f in range(n)], set()
    while True:
        left = [f for f in range(n) if f not in joined]
        if not left:
            break
        near = {f: min(range(n), key=lambda g, f=f: distances[f, g]) for f in left}
        proposer = min(left, key=lambda f: distances[f, near[f]])
        target, best = near[proposer], distances[proposer, near[proposer]]
        if joined and best >= threshold:
            break
        mine = next(c for c in clusters if proposer in c)
        yours = next(c for c in clusters if target in c)
        if len(mine) == len(yours) == 1 or best < penalty * 2.0 ** (1 - len(mine) * len(yours)):
            mine.discard(proposer)
            yours.add(proposer)
            joined |= {proposer, target}
        else:
            distances[proposer, target] = INF
    # A cluster has the number of the folder that it began with.
    return [next(k for k, c in enumerate(clusters) if f in c) for f in range(n)]
