"""Matrices, nonlinearities, and the comparison with the reference that several tests share."""

import numpy as np
from scipy.special import expit

import haarbor as hb
from haarbor.paraproducts import (
    paraproduct_forms,
    telescoping,
)
from tests.reference.paraproduct import decomposition

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
