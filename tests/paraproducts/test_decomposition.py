from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

import haarbor as hb
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.paraproducts import (
    _masked_softmax_pieces as masked_softmax_pieces,
)
from haarbor.paraproducts import (
    paraproduct_forms,
    pointwise_nonlinearity,
    row_softmax,
    telescoping,
)
from tests.reference.paraproduct import Pointwise, RowSoftmax, decomposition
from tests.samples import CHAINED, HALVES, PAIR, random_tree

# Written out here: the reference is to share nothing with the package.
FUNCTIONS = {
    "exp": (np.exp, np.exp, np.exp),
    "sigmoid": (
        expit,
        lambda x: expit(x) * expit(-x),
        lambda x: expit(x) * expit(-x) * (expit(-x) - expit(x)),
    ),
    "tanh": (np.tanh, lambda x: np.cosh(x) ** -2, lambda x: -2 * np.tanh(x) * np.cosh(x) ** -2),
    "square": (np.square, lambda x: 2 * x, lambda x: 2 + 0 * x),
    "cube": (lambda x: x**3, lambda x: 3 * x**2, lambda x: 6 * x),
    "gaussian": (
        lambda x: np.exp(-(x**2) / 2),
        lambda x: -x * np.exp(-(x**2) / 2),
        lambda x: x**2 * np.exp(-(x**2) / 2) - np.exp(-(x**2) / 2),
    ),
    "inverse potential": (
        lambda x: 1 / np.sqrt(1 + x**2),
        lambda x: -x / np.sqrt(1 + x**2) ** 3,
        lambda x: 3 * x**2 / np.sqrt(1 + x**2) ** 5 - 1 / np.sqrt(1 + x**2) ** 3,
    ),
}
SHAPES = [(7, 9), (1, 6), (5, 1), (1, 1), (11, 4)]


def sample(rng, shape, masked):
    f = rng.normal(size=shape)
    mask = np.ones(shape, dtype=bool)
    if masked:
        mask = rng.random(shape) < 0.6
        mask[0, 0] = True
        f = np.where(mask, f, np.nan)
    return f, mask


def assert_agrees_with_reference(f, trees, nonlinearity, operator, mask):
    expected = decomposition(np.nan_to_num(f), trees[0].levels, trees[1].levels, operator, mask)
    given = None if mask.all() else mask
    found = paraproduct_forms(f, *trees, nonlinearity, given)
    for form, split in found.items():
        np.testing.assert_allclose(split.approximation, expected[form], rtol=0, atol=1e-10, err_msg=form)
        np.testing.assert_allclose(split.value, expected["exact"], rtol=0, atol=1e-10)
        np.testing.assert_allclose(split.scale_energy, expected["pair energy"], rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            hb.paraproduct(f, *trees, nonlinearity, form, given).approximation,
            split.approximation,
            atol=1e-13,
        )
    exact = telescoping(f, *trees, nonlinearity, given)
    np.testing.assert_allclose(exact.terms["differences"], expected["differences"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(exact.scale_energy, expected["difference energy"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_pointwise_forms_are_those_of_full_size_averages(name, masked, rng):
    for shape in SHAPES:
        trees = [random_tree(rng, n) for n in shape]
        f, mask = sample(rng, shape, masked)
        assert_agrees_with_reference(f, trees, name, Pointwise(*FUNCTIONS[name], mask), mask)


@pytest.mark.parametrize("masked", [False, True])
def test_softmax_forms_are_those_of_full_jacobians(masked, rng):
    for shape in SHAPES:
        trees = [random_tree(rng, n) for n in shape]
        f, mask = sample(rng, shape, masked)
        assert_agrees_with_reference(2 * f, trees, "softmax", RowSoftmax(mask), mask)


def test_a_causal_mask_with_a_row_that_sees_nothing(rng):
    trees = [random_tree(rng, 8), random_tree(rng, 8)]
    mask = np.tri(8, k=-1, dtype=bool)
    f = np.where(mask, rng.normal(size=(8, 8)), -np.inf)
    assert_agrees_with_reference(np.where(mask, f, 0.0), trees, "softmax", RowSoftmax(mask), mask)
    split = hb.paraproduct(f, *trees, "softmax", mask=mask)
    assert (split.approximation[~mask] == 0).all()
    assert (split.residual[~mask] == 0).all()
    np.testing.assert_allclose(split.value.sum(axis=1), [0.0] + [1.0] * 7, atol=1e-12)


def test_only_child_chains_and_repeated_levels_change_nothing(rng):
    f = rng.normal(size=(5, 4))
    longer = hb.PartitionTree(np.repeat(CHAINED.levels, [2, 1, 3, 1, 1, 2], axis=0))
    for name in ("exp", "softmax"):
        plain = paraproduct_forms(f, CHAINED, HALVES, name)
        chained = paraproduct_forms(f, longer, HALVES, name)
        for form, split in plain.items():
            np.testing.assert_allclose(chained[form].approximation, split.approximation, atol=1e-13)
        assert chained["paper"].scale_energy.shape == (9, 2)
        np.testing.assert_allclose(
            chained["paper"].scale_energy.sum(), plain["paper"].scale_energy.sum(), rtol=1e-12
        )
        # Level 0 to level 1 repeats the root: nothing splits.
        assert (chained["paper"].scale_energy[0] == 0).all()


def test_a_masked_softmax_of_many_rows_is_summed_over_all_blocks_of_them(rng):
    shape = (2 * masked_softmax_pieces._BLOCK + 6, 5)
    trees = [random_tree(rng, n) for n in shape]
    f, mask = sample(rng, shape, True)
    assert_agrees_with_reference(f, trees, "softmax", RowSoftmax(mask), mask)


def test_the_spread_of_the_constants_does_not_depend_on_the_blocks(rng, monkeypatch):
    trees = [random_tree(rng, n) for n in (40, 6)]
    f, mask = sample(rng, (40, 6), True)
    found = []
    for block in (7, 1000):
        monkeypatch.setattr(masked_softmax_pieces, "_BLOCK", block)
        figures = hb.softmax_invariance(f, *trees, mask).figures
        found.append((figures.constant_mean, figures.constant_deviation))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


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


def test_results_are_read_only_and_the_input_is_not_touched(rng):
    f = rng.normal(size=(4, 4))
    kept = f.copy()
    split = hb.paraproduct(f, HALVES, HALVES)
    for array in (split.approximation, split.residual, split.scale_energy, *split.terms.values()):
        assert not array.flags.writeable
    np.testing.assert_array_equal(f, kept)
    assert f.flags.writeable


def test_given_functions_are_taken_as_they_are(rng):
    f = rng.normal(size=(4, 5))
    named = paraproduct_forms(f, HALVES, CHAINED, "tanh")
    given = paraproduct_forms(f, HALVES, CHAINED, FUNCTIONS["tanh"])
    for form in named:
        np.testing.assert_allclose(given[form].approximation, named[form].approximation, atol=1e-12)
    assert given["paper"].nonlinearity == "given"


def test_named_derivatives_are_derivatives():
    x = np.linspace(-2.0, 2.0, 41)
    step = 1e-4
    for name in FUNCTIONS:
        derivatives = pointwise_nonlinearity(name, order=3).derivatives
        for lower, higher in pairwise(derivatives):
            slope = (lower(x + step) - lower(x - step)) / (2 * step)
            np.testing.assert_allclose(higher(x), slope, atol=2e-6)


def test_float32_input_is_worked_on_in_double_precision(rng):
    f = rng.normal(size=(4, 4)).astype(np.float32)
    split = hb.paraproduct(f, HALVES, HALVES)
    np.testing.assert_allclose(split.value, np.exp(f.astype(np.float64)), rtol=1e-14)


def test_huge_logits_do_not_overflow_the_softmax(rng):
    f = 1e4 * rng.normal(size=(4, 4))
    for mask in (None, np.tri(4, dtype=bool)):
        split = hb.paraproduct(f, HALVES, HALVES, "softmax", mask=mask)
        assert np.isfinite(split.approximation).all()
        np.testing.assert_allclose(split.value.sum(axis=1), 1.0, rtol=1e-9)
        exact = telescoping(f, HALVES, HALVES, "softmax", mask)
        np.testing.assert_allclose(exact.total, row_softmax(f, mask), atol=1e-12)


def test_a_value_that_overflows_is_named():
    f = np.zeros((4, 4))
    f[2, 1] = 800.0
    with pytest.raises(DataError, match=r"'exp' must be finite .*row 2, column 1.* 800, it is inf"):
        hb.paraproduct(f, HALVES, HALVES)


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


def test_a_function_undefined_at_zero_is_only_asked_where_there_are_means(rng):
    f = rng.uniform(1.0, 2.0, size=(4, 4))
    mask = np.tri(4, dtype=bool)
    log = (np.log, lambda x: 1 / x, lambda x: -1 / x**2)
    split = hb.paraproduct(f, HALVES, HALVES, log, mask=mask)
    np.testing.assert_allclose(split.value[mask], np.log(f[mask]), atol=1e-13)


def test_the_repr_is_one_line():
    assert repr(hb.paraproduct(np.zeros((2, 2)), PAIR, PAIR)) == (
        "Paraproduct(2 x 2, exp, corrected+marginals, relative error 0)"
    )
