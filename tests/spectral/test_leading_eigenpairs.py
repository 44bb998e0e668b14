import numpy as np
import pytest

import haarbor as hb
from haarbor.spectral import _markov as markov
from haarbor.spectral._leading_eigenpairs import _next_look, leading_eigenpairs
from tests.assertions import assert_close


def with_eigenvalues(rng, values, n_items):
    """A symmetric matrix with these eigenvalues, the others zero."""
    vectors = np.linalg.qr(rng.normal(size=(n_items, len(values))))[0]
    return (vectors * values) @ vectors.T, vectors


def assert_eigenpairs(matrix, values, vectors):
    assert_close(vectors.T @ vectors, np.eye(values.size))
    assert np.abs(matrix @ vectors - vectors * values).max() < 1e-13


@pytest.mark.parametrize("n_items", [150, 333])
def test_pairs_of_largest_size_come_first(rng, n_items):
    expected = np.array([1.0, -0.9, 0.7, 0.5, -0.4, 0.2, 0.1, 0.05])
    matrix, vectors = with_eigenvalues(rng, expected, n_items)
    found = leading_eigenpairs(matrix, 3)
    assert_close(found[0], expected[:3])
    assert_eigenpairs(matrix, *found)
    assert_close(np.abs((found[1] * vectors[:, :3]).sum(axis=0)), np.ones(3))


@pytest.mark.slow
def test_a_slow_decay_converges_too(rng):
    points = rng.normal(size=(500, 2))
    matrix = np.exp(-np.linalg.norm(points[:, None] - points[None], axis=2))
    matrix /= matrix.sum(axis=1).max()
    found = leading_eigenpairs(matrix, 5)
    everything = np.linalg.eigvalsh(matrix)
    assert_close(found[0], everything[np.argsort(-np.abs(everything))[:5]])
    assert_eigenpairs(matrix, *found)


def test_repeated_eigenvalues_are_found_as_often_as_they_occur(rng):
    matrix, _ = with_eigenvalues(rng, [1.0] * 5 + [0.5] * 3 + [0.1] * 30, 300)
    found = leading_eigenpairs(matrix, 8)
    assert_close(found[0], [1.0] * 5 + [0.5] * 3)
    assert_eigenpairs(matrix, *found)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_a_matrix_of_small_rank_has_zeros_after_it(rng, rank):
    matrix, _ = with_eigenvalues(rng, np.arange(rank, 0, -1.0), 200)
    values, vectors = leading_eigenpairs(matrix, 5)
    assert_close(values, [*np.arange(rank, 0, -1.0), *np.zeros(5 - rank)])
    assert_eigenpairs(matrix, values, vectors)


def test_what_does_not_converge_is_left_to_others(rng):
    # Random: the eigenvalues are so near to each other that a small basis cannot tell them apart.
    matrix = rng.normal(size=(150, 150))
    assert leading_eigenpairs(matrix + matrix.T, 5) is None
    assert leading_eigenpairs(np.eye(30), 5) is None


def test_the_same_bits_come_again_with_any_number_of_threads(rng):
    matrix, _ = with_eigenvalues(rng, 0.7 ** np.arange(12), 201)
    first, *again = (leading_eigenpairs(matrix, 4, threads) for threads in (1, 1, 2, 3))
    assert all(first[1].tobytes() == other[1].tobytes() for other in again)


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ([(8, 30.0)], 11),
        ([(8, 12.0), (11, 4.5)], 13),
        # The last two count.
        ([(8, 30.0), (11, 12.0), (15, 4.0)], 17),
        # Never much later, and never at once.
        ([(8, 30.0), (11, 29.0)], 15),
        ([(8, 30.0), (11, 30.0)], 15),
        ([(8, 3.0), (11, 1e-9)], 12),
    ],
)
def test_the_basis_is_looked_at_when_it_should_do(looks, expected):
    assert _next_look(looks) == expected


@pytest.mark.parametrize("kind", ["connected", "components", "identical"])
def test_spectra_and_trees_are_those_of_all_eigenpairs(rng, monkeypatch, kind):
    points = rng.normal(size=(600, 3))
    if kind == "identical":
        points[300:] = points[:300]
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    affinity = np.exp(-distances / np.median(distances))
    if kind == "components":
        affinity[:250, 250:] = affinity[250:, :250] = 0
    everything = hb.markov_spectrum(affinity)
    monkeypatch.setattr(markov, "_MANY_ITEMS", 10)
    called = []
    solve = markov.leading_eigenpairs
    monkeypatch.setattr(
        markov, "leading_eigenpairs", lambda *given: called.append(solve(*given)) or called[-1]
    )
    leading = hb.markov_spectrum(affinity)
    assert called[0] is not None
    assert_close(leading.eigenvalues, everything.eigenvalues)
    assert hb.flexible_tree(leading) == hb.flexible_tree(everything)
