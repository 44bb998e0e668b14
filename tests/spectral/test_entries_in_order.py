import numpy as np
import pytest

from haarbor.spectral import _entries_in_order as module
from haarbor.spectral import entries_in_order


def below_diagonal(matrix):
    return np.sort(matrix[np.tril_indices(matrix.shape[0], -1)])


def symmetric(rng, n_items, kind):
    matrix = rng.gamma(0.5, size=(n_items, n_items))
    if kind == "ties":
        matrix = np.floor(matrix)
    if kind == "infinite":
        matrix[rng.random(matrix.shape) < 0.3] = np.inf
    if kind == "rows":
        # Every entry a row's own: a sample of rows would not do.
        matrix = np.broadcast_to(np.arange(n_items) ** 2.0, matrix.shape)
    return np.maximum(matrix, matrix.T)


@pytest.mark.parametrize("kind", ["random", "ties", "infinite", "rows"])
@pytest.mark.parametrize("n_items", [2, 3, 150, 255, 256, 257, 1003])
def test_places_hold_what_they_do_in_order(rng, n_items, kind):
    matrix = symmetric(rng, n_items, kind)
    expected = below_diagonal(matrix)
    size = expected.size
    for places in ([0], [size - 1], [(size - 1) // 2, size // 2], [size // 3], [size // 2, 0]):
        assert entries_in_order(matrix, places) == [expected[place] for place in places]


def test_only_what_is_below_the_diagonal_counts(rng):
    matrix = symmetric(rng, 300, "random")
    below = np.tril(matrix, -1) - np.triu(np.ones((300, 300)))
    assert entries_in_order(below, [0, 40_000]) == entries_in_order(matrix, [0, 40_000])


def test_a_bracket_that_misses_is_made_good(rng, monkeypatch):
    matrix = symmetric(rng, 300, "random")
    expected_size = matrix.shape[0] * (matrix.shape[0] - 1) // 2
    expected = below_diagonal(matrix)[22_000]
    found = []
    bracketed = module._bracketed
    monkeypatch.setattr(module, "_bracketed", lambda *given: found.append(bracketed(*given)) or found[-1])
    assert entries_in_order(matrix, [22_000]) == [expected]
    # Far fewer are put in order than there are.
    assert found[-1][1].size < 0.2 * expected_size
    monkeypatch.setattr(module, "_sample", lambda matrix: np.full(1024, -1.0))
    assert entries_in_order(matrix, [22_000]) == [expected]
    assert found[-1] is None


def test_threads_change_nothing(rng, monkeypatch):
    matrix = symmetric(rng, 400, "random")
    monkeypatch.setattr(module, "_MANY_ITEMS", 100)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("HAARBOR_NUM_THREADS", threads)
        found.append(entries_in_order(matrix, [39_900, 39_901]))
    assert found[0] == found[1] == below_diagonal(matrix)[39_900:39_902].tolist()
