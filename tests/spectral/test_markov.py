import numpy as np
import pytest

import haarbor as hb
from haarbor.spectral import _affinity, _markov, _symmetric_part
from haarbor.spectral._markov import checked_affinity, settled_signs
from tests.assertions import assert_close
from tests.reference import markov as reference
from tests.reference.affinity import cosine_affinity, gaussian_affinity


def affinity_of(rng, n_items):
    return gaussian_affinity(rng.normal(size=(n_items, 4)).tolist())


def assert_close_up_to_sign(actual, expected):
    assert actual.shape == expected.shape
    for mine, theirs in zip(actual.T, expected.T, strict=True):
        assert_close(mine * np.sign(mine @ theirs), theirs)


@pytest.mark.parametrize("n_items", [1, 2, 3, 11, 12, 13, 30])
def test_spectrum_matches_the_reference(rng, n_items):
    W = affinity_of(rng, n_items)
    spectrum = hb.markov_spectrum(W)
    values, psi = reference.markov_spectrum(W)
    assert spectrum.eigenvalues.shape == (min(12, n_items),)
    assert_close(spectrum.eigenvalues, values)
    for j, value in enumerate(values):
        # Vectors of nearly equal or vanishing eigenvalues are not determined to rounding.
        gaps = [abs(value - other) for i, other in enumerate(values) if i != j]
        if min(gaps, default=1.0) > 1e-2 and (value > 1e-2 or n_items == 1) and j + 1 < len(values):
            assert_close_up_to_sign(spectrum.eigenvectors[:, j : j + 1], psi[:, j : j + 1] / psi[0, 0])


def test_spectrum_by_hand():
    # Row sums 3/2 make P = W/(9/4), s^2 = 2/3 and S = W/(3/2): eigenvalues 1 and 1/3.
    spectrum = hb.markov_spectrum([[1.0, 0.5], [0.5, 1.0]])
    assert_close(spectrum.eigenvalues, [1, 1 / 3])
    assert_close(spectrum.eigenvectors, [[1, 1], [1, -1]])


def test_density_is_divided_out():
    # Doubling an item (two copies of it) must not look like a plain row normalisation.
    W = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.3], [0.1, 0.3, 1.0]])
    r = W.sum(axis=1)
    P = W / np.outer(r, r)
    chain = P / P.sum(axis=1, keepdims=True)
    spectrum = hb.markov_spectrum(W)
    for j in range(3):
        psi = spectrum.eigenvectors[:, j]
        assert_close(np.abs(chain @ psi), spectrum.eigenvalues[j] * np.abs(psi))


@pytest.mark.parametrize("n_items", [2, 5, 12, 20])
def test_pairs_are_eigenpairs_of_the_chain(rng, n_items):
    W = affinity_of(rng, n_items)
    assert_eigenpairs(W)


def assert_eigenpairs(W):
    """Every column is an eigenvector of the Markov chain, and all are independent."""
    S, s = reference.symmetric_chain(W)
    spectrum = hb.markov_spectrum(W)
    u = spectrum.eigenvectors * s[:, None]
    u /= np.linalg.norm(u, axis=0)
    for j, value in enumerate(spectrum.eigenvalues):
        image = S @ u[:, j]
        residue = min(np.abs(image - value * u[:, j]).max(), np.abs(image + value * u[:, j]).max())
        assert residue < 1e-12, f"column {j} with eigenvalue {value:.3g} is off by {residue:.1e}"
    assert_close(u.T @ u, np.eye(u.shape[1]))


@pytest.mark.parametrize("n_alike", [2, 3, 6])
def test_identical_items_have_eigenpairs_too(rng, n_alike):
    slices = rng.uniform(0.1, 1, size=(6, 5))
    slices[:n_alike] = slices[0]
    assert_eigenpairs(cosine_affinity(slices.tolist()))


@pytest.mark.parametrize("n_components", [2, 3, 4])
def test_components_repeat_the_eigenvalue_one_and_the_first_vector_stays_constant(rng, n_components):
    W = np.zeros((5 * n_components,) * 2)
    for c in range(n_components):
        block = slice(5 * c, 5 * c + 5)
        W[block, block] = affinity_of(rng, 5)
    spectrum = hb.markov_spectrum(W)
    assert_close(spectrum.eigenvalues[:n_components], np.ones(n_components))
    assert spectrum.eigenvalues[n_components] < 1 - 1e-6
    assert (spectrum.eigenvectors[:, 0] == 1).all()
    for c in range(n_components):
        # Constant on components, whichever combination was found.
        part = spectrum.eigenvectors[5 * c : 5 * c + 5, 1:n_components]
        assert_close(part - part[:1] + 1, np.ones_like(part))


def test_negative_eigenvalues_count_by_size():
    # Two items that mostly point at each other: eigenvalue (a - b)/(a + b) = -0.8.
    spectrum = hb.markov_spectrum([[0.1, 0.9], [0.9, 0.1]])
    assert_close(spectrum.eigenvalues, [1, 0.8])
    cycle = np.array([[0.01, 1, 0, 1], [1, 0.01, 1, 0], [0, 1, 0.01, 1], [1, 0, 1, 0.01]])
    found = hb.markov_spectrum(cycle)
    assert_close(found.eigenvalues, reference.markov_spectrum(cycle)[0])
    assert np.sign(found.eigenvectors[:, 1]).tolist() in ([1, -1, 1, -1], [-1, 1, -1, 1])


def test_tiny_affinities_count_as_zero():
    W = np.array([[1.0, 0.5, 1e-8], [0.5, 1.0, 1e-8], [1e-8, 1e-8, 1.0]])
    assert_close(hb.markov_spectrum(W).eigenvalues, [1, 1, 1 / 3])
    W[0, 2] = W[2, 0] = 1.1e-8
    assert hb.markov_spectrum(W).eigenvalues[1] < 1


def test_the_entry_of_largest_size_is_positive(rng):
    psi = hb.markov_spectrum(affinity_of(rng, 15)).eigenvectors
    assert (psi[np.abs(psi).argmax(axis=0), np.arange(psi.shape[1])] > 0).all()


def test_fewer_pairs_are_the_first_of_more(rng):
    W = affinity_of(rng, 14)
    two, all_of_them = hb.markov_spectrum(W, 2), hb.markov_spectrum(W, 14)
    assert two.eigenvectors.shape == (14, 2)
    assert all_of_them.eigenvectors.shape == (14, 14)
    assert_close(two.eigenvectors, all_of_them.eigenvectors[:, :2])
    assert (np.diff(all_of_them.eigenvalues) <= 0).all()


def test_diffusion_coordinates_are_powers_times_vectors(rng):
    spectrum = hb.markov_spectrum(affinity_of(rng, 6))
    assert spectrum.n_items == 6
    expected = spectrum.eigenvectors[:, 1:] * spectrum.eigenvalues[1:] ** 3
    assert_close(spectrum.diffusion_coordinates(3), expected)


def test_results_are_read_only(rng):
    spectrum = hb.markov_spectrum(affinity_of(rng, 4))
    with pytest.raises(ValueError, match="read-only"):
        spectrum.eigenvectors[0, 0] = 2
    with pytest.raises(AttributeError):
        spectrum.eigenvalues = spectrum.eigenvalues


def test_the_affinity_is_not_changed(rng):
    W = affinity_of(rng, 8)
    before = W.copy()
    hb.markov_spectrum(W)
    assert (before == W).all()


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (np.ones((2, 3)), r"square matrix; found shape \(2, 3\)"),
        (np.ones(4), r"square matrix; found shape \(4,\)"),
        (np.ones((0, 0)), "square matrix"),
        ([[1.0, np.nan], [np.nan, 1.0]], r"finite; entry \(0, 1\) is nan"),
        ([[1.0, -0.5], [-0.5, 1.0]], r"non-negative; entry \(0, 1\) is -0.5"),
        ([[1.0, 0.5], [0.25, 1.0]], r"symmetric; entries \(0, 1\) and \(1, 0\) differ by 2.5e-01"),
    ],
)
def test_what_is_not_an_affinity_is_refused(affinity, message):
    with pytest.raises(hb.AffinityError, match=message):
        checked_affinity(affinity)
    with pytest.raises(hb.AffinityError, match=message):
        hb.markov_spectrum(affinity)


def test_an_item_without_affinity_is_named():
    with pytest.raises(hb.AffinityError, match=r"item 1 has none. Put ones on the diagonal"):
        hb.markov_spectrum([[1.0, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 1.0]])


@pytest.mark.parametrize("n_eigenpairs", [0, -1, 4, 2.0, True])
def test_a_bad_number_of_pairs_is_refused(n_eigenpairs):
    with pytest.raises(
        hb.SettingError, match=rf"n_eigenpairs must be a whole number in 1\.\.3; found {n_eigenpairs}"
    ):
        hb.markov_spectrum(np.eye(3), n_eigenpairs)


def test_many_items_give_the_same_bits_for_any_number_of_threads(rng, monkeypatch):
    for module in (_affinity, _markov, _symmetric_part):
        monkeypatch.setattr(module, "_MANY_ITEMS", 50)
    points = rng.normal(size=(300, 3))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("HAARBOR_NUM_THREADS", threads)
        affinity = hb.distance_affinity(distances)
        found.append((affinity.tobytes(), hb.markov_spectrum(affinity).eigenvectors.tobytes()))
    assert found[0] == found[1]


def test_what_is_symmetric_up_to_rounding_gives_a_symmetric_matrix(rng):
    affinity = rng.uniform(0.1, 1, size=(40, 40))
    affinity = (affinity + affinity.T) / 2
    nearly = affinity * (1 + 1e-12 * rng.normal(size=affinity.shape))
    for given, is_symmetric in ((affinity, True), (nearly, False)):
        symmetric, first = _markov._normalised(given, 0, is_symmetric=is_symmetric, smallest=given.min())
        assert (symmetric == symmetric.T).all()
        assert_close(symmetric @ first, 2 * first)
    assert _markov._checked(affinity).is_symmetric
    assert not _markov._checked(nearly).is_symmetric


def test_small_affinities_count_as_zero_and_the_given_matrix_stays(rng):
    affinity = np.full((4, 4), 1e-9)
    affinity[:2, :2] = affinity[2:, 2:] = 0.5
    kept = affinity.copy()
    found = hb.markov_spectrum(affinity)
    assert (affinity == kept).all()
    affinity[affinity < 0.1] = 0
    assert found.eigenvectors.tobytes() == hb.markov_spectrum(affinity).eigenvectors.tobytes()


def test_rounding_does_not_choose_the_sign():
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (9, 6))
    for _ in range(20):
        vectors = signs * (1 + 1e-13 * rng.normal(size=signs.shape))
        np.testing.assert_array_equal(settled_signs(vectors), signs[0])
    # The largest decides, and the first only of those that are as large.
    assert settled_signs(np.array([[0.5, -1.0], [-0.6, 1.0], [0.4, 0.2]])).tolist() == [-1.0, -1.0]
