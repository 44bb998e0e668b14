import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import SettingError
from haarbor.paraproducts import paraproduct_forms
from tests.samples import HALVES, tree_of_kind

KINDS = ("dyadic", "flexible", "lopsided")


@pytest.mark.parametrize(
    "alpha", [0.3, *(pytest.param(alpha, marks=pytest.mark.slow) for alpha in (0.2, 0.45))]
)
@pytest.mark.parametrize("kind", KINDS)
def test_the_corrected_residual_decays_at_least_twice_as_fast_as_the_function(kind, alpha, rng):
    trees = [tree_of_kind(kind, n, rng) for n in (256, 200)]
    f = hb.datasets.haar_series(*trees, alpha, amplitude=0.3)
    for form in ("corrected", "corrected+marginals"):
        gain = hb.paraproduct(f, *trees, "exp", form).regularity()
        assert gain.function.alpha == pytest.approx(alpha, abs=0.02)
        assert gain.ratio >= 2
        for slope in (gain.residual.row, gain.residual.column):
            assert slope >= 2 * alpha
        for slope in (gain.residual.row_edge, gain.residual.column_edge):
            assert slope >= 2 * alpha


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 0.3, 0.45])
@pytest.mark.parametrize("kind", KINDS)
def test_the_papers_form_gains_nothing_at_the_edges_and_the_tool_shows_it(kind, alpha, rng):
    trees = [tree_of_kind(kind, n, rng) for n in (256, 200)]
    slopes = []
    for seed in range(4):
        f = hb.datasets.haar_series(*trees, alpha, amplitude=0.3, seed=seed)
        gain = hb.paraproduct(f, *trees, "exp", "paper+boundary").regularity()
        slopes += [gain.residual.row_edge, gain.residual.column_edge]
    # One edge has some 200 coefficients, and its slope an error of 0.07.
    assert np.mean(slopes) < 1.5 * alpha


def test_the_counterexample_is_of_no_higher_exponent_than_the_function():
    """f = h(x) psi_0(x'), psi_0 the coarsest Haar function of the columns."""
    rows = tree_of_kind("dyadic", 1024, None)
    columns = tree_of_kind("dyadic", 4, None)
    h = hb.datasets.haar_series(rows, columns, 0.3, coefficients="signs")[:, :1]
    f = 0.3 * h * np.array([1.0, 1.0, -1.0, -1.0])
    forms = paraproduct_forms(f, rows, columns, "exp")
    published, mended = (forms[form].regularity() for form in ("paper+boundary", "corrected"))
    assert published.residual.row_edge < 1.4 * published.function.row_edge
    assert mended.residual.row_edge > 2 * mended.function.row_edge


def test_a_residual_of_nothing_is_infinitely_smooth(rng):
    affine = (lambda x: 2 * x, lambda x: np.full_like(x, 2.0), np.zeros_like)
    gain = hb.paraproduct(rng.normal(size=(4, 4)), HALVES, HALVES, affine).regularity()
    assert gain.residual.alpha == np.inf


def test_regularity_under_a_mask_is_refused(rng):
    split = hb.paraproduct(rng.normal(size=(4, 4)), HALVES, HALVES, mask=np.tri(4, dtype=bool))
    with pytest.raises(SettingError, match="two axes without a mask; found 2 axes and a mask"):
        split.regularity()
