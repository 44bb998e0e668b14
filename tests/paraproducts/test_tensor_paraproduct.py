import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import SettingError
from haarbor.paraproducts import tensor_paraproduct
from tests.reference.tensor_paraproduct import corrected, remainder
from tests.samples import HALVES, PAIR, random_tree

AXES = ("query", "key", "head")


def sample(rng, shape):
    trees = [random_tree(rng, n, n_inner=1) for n in shape]
    return rng.normal(size=shape), dict(zip(AXES, trees, strict=True)), [tree.levels for tree in trees]


@pytest.mark.parametrize(("name", "power"), [("square", 2), ("cube", 3)])
def test_three_axes_agree_with_interpolated_derivatives_of_full_size_averages(name, power, rng):
    for shape in ((4, 3, 5), (1, 4, 3), (2, 2, 1)):
        f, trees, levels = sample(rng, shape)
        split = tensor_paraproduct(f, trees, AXES, name, "corrected")
        np.testing.assert_allclose(split.approximation, corrected(f, levels, power), atol=1e-10)
        split = tensor_paraproduct(f, trees, AXES, name, "corrected+marginals")
        np.testing.assert_allclose(split.residual, remainder(f, levels, power), atol=1e-10)


def test_an_axis_of_one_item_adds_nothing(rng):
    f = rng.normal(size=(4, 2))
    single = hb.PartitionTree([[0]])
    trees = {"query": HALVES, "key": PAIR, "head": single}
    flat = hb.paraproduct(f, HALVES, PAIR, "exp", "corrected")
    cube = tensor_paraproduct(f[:, :, None], trees, AXES, "exp", "corrected")
    np.testing.assert_allclose(cube.approximation[:, :, 0], flat.approximation, atol=1e-12)
    # What depends on two of three axes is a marginal there, and exact.
    cube = tensor_paraproduct(f[:, :, None], trees, AXES, "exp", "corrected+marginals")
    np.testing.assert_allclose(cube.approximation[:, :, 0], np.exp(f), atol=1e-12)


def test_one_axis_is_the_classical_paraproduct(rng):
    f = rng.normal(size=4)
    split = tensor_paraproduct(f, {"item": HALVES}, ("item",), "exp", "corrected")
    halves = np.repeat([f[:2].mean(), f[2:].mean()], 2)
    expected = np.exp(f.mean()) * (1 + halves - f.mean()) + np.exp(halves) * (f - halves)
    np.testing.assert_allclose(split.approximation, expected, rtol=1e-13)


def test_two_axes_are_the_matrix_paraproduct(rng):
    f = rng.normal(size=(4, 2))
    split = tensor_paraproduct(f, {"key": PAIR, "query": HALVES})
    np.testing.assert_array_equal(split.approximation, hb.paraproduct(f, HALVES, PAIR).approximation)
    assert list(split.terms)[1] == "linear query"


def test_a_mask_of_three_axes_leaves_out_what_it_hides(rng):
    f, trees, _ = sample(rng, (4, 3, 5))
    mask = rng.random(f.shape) < 0.7
    split = tensor_paraproduct(np.where(mask, f, np.nan), trees, AXES, "exp", mask=mask)
    np.testing.assert_allclose(split.value, np.where(mask, np.exp(f), 0.0), atol=1e-13)
    assert (split.approximation[~mask] == 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nonlinearity": "softmax"}, "must work entry by entry; found .softmax., which works on the rows"),
        ({"trees": {"query": PAIR, "key": PAIR}}, "'head' has none"),
        ({"nonlinearity": (np.exp, np.exp, np.exp)}, "4 functions"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    arguments = {"f": np.zeros((2, 2, 2)), "trees": dict.fromkeys(AXES, PAIR), **change}
    with pytest.raises(SettingError, match=message):
        tensor_paraproduct(**arguments)


def test_four_axes_are_refused():
    trees = dict.fromkeys("abcd", PAIR)
    with pytest.raises(SettingError, match="must be of one to three axes; found"):
        tensor_paraproduct(np.zeros((2, 2, 2, 2)), trees, tuple("abcd"))
