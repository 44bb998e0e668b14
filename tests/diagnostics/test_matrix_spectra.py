import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.collapse import effective_rank, stable_rank
from haarbor.diagnostics._matrix_spectra import matrix_spectra, spectral_figures


@pytest.mark.parametrize("shape", [(3, 6, 6), (2, 4, 9), (2, 9, 4), (1, 1, 5)])
def test_figures_are_those_of_a_singular_value_decomposition(rng, shape):
    matrices = rng.random(shape)
    found = matrix_spectra(matrices)
    for place, matrix in enumerate(matrices):
        s = np.linalg.svd(matrix, compute_uv=False)
        gap = s[1] / s[0] if s.size > 1 else 0.0
        np.testing.assert_allclose(found["spectral_gap"][place], gap, rtol=1e-6)
        np.testing.assert_allclose(found["stable_rank"][place], stable_rank(matrix), rtol=1e-6)
        np.testing.assert_allclose(found["effective_rank"][place], effective_rank(matrix), rtol=1e-6)


def test_zeros_have_no_rank():
    assert all(np.isnan(values).all() for values in matrix_spectra(np.zeros((2, 3, 3))).values())


def test_a_permutation_has_full_rank_and_equal_rows_have_rank_one():
    found = matrix_spectra(np.stack([np.eye(5)[::-1], np.full((5, 5), 0.2)]))
    np.testing.assert_allclose(found["effective_rank"], [5, 1], rtol=1e-5)
    np.testing.assert_allclose(found["stable_rank"], [5, 1], rtol=1e-9)
    np.testing.assert_allclose(found["spectral_gap"], [1, 0], atol=1e-7)


@given(st.lists(st.floats(0.01, 10), min_size=2, max_size=8), st.floats(1e-3, 1e3))
def test_figures_keep_their_order_and_do_not_see_the_scale(values, scale):
    s = np.sort(np.array([values]))[:, ::-1]
    one, other = spectral_figures(s), spectral_figures(scale * s)
    assert 1 - 1e-12 <= one["stable_rank"][0] <= s.size + 1e-9
    assert one["stable_rank"][0] <= one["effective_rank"][0] + 1e-9 <= s.size + 1e-8
    for name, found in one.items():
        np.testing.assert_allclose(other[name], found, rtol=1e-9)
