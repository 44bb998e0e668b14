import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.paraproducts import (
    paraproduct_forms,
)
from tests.samples import CHAINED, HALVES, PAIR


def test_terms_add_up_to_the_approximation_and_the_residual_to_the_value(rng):
    f = rng.normal(size=(5, 4))
    for form, split in paraproduct_forms(f, CHAINED, HALVES, "exp").items():
        np.testing.assert_allclose(sum(split.terms.values()), split.approximation, atol=1e-13)
        np.testing.assert_allclose(split.approximation + split.residual, np.exp(f), atol=1e-13)
        error = np.linalg.norm(split.residual)
        assert split.relative_error == pytest.approx(error / np.linalg.norm(np.exp(f)), rel=1e-12)
        centred = np.linalg.norm(np.exp(f) - np.exp(f).mean())
        assert split.centred_error == pytest.approx(error / centred, rel=1e-12)
        assert split.form == form
    assert list(split.terms) == [
        "mean", "linear row", "linear column", "linear row x column", "marginal row", "marginal column"
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["paper+boundary", "corrected", "corrected+marginals"])
@pytest.mark.parametrize("nonlinearity", ["exp", "tanh", "sigmoid", "softmax"])
def test_a_constant_is_approximated_without_an_error(nonlinearity, form):
    # With this number the terms of the corrected form do not add up to the last digit.
    split = hb.paraproduct(np.full((5, 4), 0.85972738964446), CHAINED, HALVES, nonlinearity, form=form)
    assert split.centred_error == 0


def test_an_error_beside_a_constant_is_infinite():
    assert hb.paraproduct(np.full((5, 4), 0.1), CHAINED, HALVES, "exp", form="paper").centred_error == np.inf
    # The squares are all alike, and the function is not.
    f = np.where(np.arange(20).reshape(5, 4) % 3 == 0, 0.5, -0.5)
    split = hb.paraproduct(f, CHAINED, HALVES, "square", form="corrected")
    assert split.relative_error > 0.01
    assert split.centred_error == np.inf


def test_results_are_read_only_and_the_input_is_not_touched(rng):
    f = rng.normal(size=(4, 4))
    kept = f.copy()
    split = hb.paraproduct(f, HALVES, HALVES)
    for array in (split.approximation, split.residual, split.scale_energy, *split.terms.values()):
        assert not array.flags.writeable
    np.testing.assert_array_equal(f, kept)
    assert f.flags.writeable


def test_float32_input_is_worked_on_in_double_precision(rng):
    f = rng.normal(size=(4, 4)).astype(np.float32)
    split = hb.paraproduct(f, HALVES, HALVES)
    np.testing.assert_allclose(split.value, np.exp(f.astype(np.float64)), rtol=1e-14)


def test_a_value_that_overflows_is_named():
    f = np.zeros((4, 4))
    f[2, 1] = 800.0
    with pytest.raises(DataError, match=r"'exp' must be finite .*row 2, column 1.* 800, it is inf"):
        hb.paraproduct(f, HALVES, HALVES)


def test_the_repr_is_one_line():
    assert repr(hb.paraproduct(np.zeros((2, 2)), PAIR, PAIR)) == (
        "Paraproduct(2 x 2, exp, corrected+marginals, relative error 0)"
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"form": "best"}, SettingError, "form must be one of 'paper'"),
        ({"nonlinearity": "relu"}, SettingError, "nonlinearity must be one of 'exp'"),
        ({"nonlinearity": (np.exp, np.exp)}, SettingError, "3 functions"),
        ({"f": np.zeros((4, 3))}, ShapeError, "'column' must have 3 items"),
        ({"f": np.full((4, 4), np.nan)}, DataError, "every entry must be finite"),
        ({"f": np.zeros(4)}, ShapeError, "must have the axes"),
        ({"mask": np.ones((4, 4))}, ShapeError, "mask must be boolean"),
        ({"mask": np.ones((4, 3), dtype=bool)}, ShapeError, "mask must have the shape"),
        ({"mask": np.zeros((4, 4), dtype=bool)}, DataError, "at least one valid entry"),
    ],
)
def test_what_does_not_fit_is_refused(change, error, message):
    arguments = {"f": np.zeros((4, 4)), "row_tree": HALVES, "column_tree": HALVES, **change}
    with pytest.raises(error, match=message):
        hb.paraproduct(**arguments)


def test_a_minus_infinity_under_the_mask_has_no_say(rng):
    f = rng.normal(size=(4, 4))
    mask = np.tri(4, dtype=bool)
    hidden = np.where(mask, f, -np.inf)
    for name in ("exp", "softmax"):
        np.testing.assert_array_equal(
            hb.paraproduct(f, HALVES, HALVES, name, mask=mask).approximation,
            hb.paraproduct(hidden, HALVES, HALVES, name, mask=mask).approximation,
        )
