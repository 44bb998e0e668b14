import math

import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close
from tests.reference.entropy import haar_entropy, product_order
from tests.reference.haar import haar_coefficients, haar_functions
from tests.samples import HALVES, PAIR, random_tree

FIGURES = (
    "raw", "normalised", "mean_removed", "tie_interval", "constant", "energy_share", "all_scales",
    "fine_share", "norm",
)  # fmt: skip
# Ratios of order one can be differences that cancel; the others are compared with themselves.
SCALE = dict.fromkeys(FIGURES) | dict.fromkeys(("mean_removed", "fine_share", "energy_share"), 1.0)


def reference_of(f, trees, k, p):
    functions = {place: haar_functions(tree.levels.tolist()) for place, tree in enumerate(trees)}
    coefficients = haar_coefficients(f, functions)
    return haar_entropy(f, coefficients, list(functions.values()), k, p)


def test_head_entropy_by_hand():
    # Coefficients 4, 0, 0, 2 with supports 4 each: k = 4 takes all.
    found = hb.head_entropy([[3.0, 1.0], [1.0, 3.0]], {"query": PAIR, "key": PAIR}, k=4)
    norm = math.sqrt(20)
    assert_close(found.raw, [6])
    assert_close(found.normalised, [6 / norm])
    assert_close(found.mean_removed, [2 / 2])
    assert_close(found.constant, [4])
    assert_close(found.energy_share, [1])
    assert_close(found.all_scales, [6])
    assert found.fine_share.tolist() == [0]
    assert_close(found.tie_interval, [[6, 6]])


def test_tie_interval_by_hand():
    # All four supports are 4: one function is the constant (4), at least 0, at most 4.
    found = hb.head_entropy([[3.0, 1.0], [1.0, 3.0]], {"query": PAIR, "key": PAIR}, k=1)
    assert_close(found.raw, [4])
    assert_close(found.tie_interval + 1, [[1, 5]])
    two = hb.head_entropy([[3.0, 1.0], [1.0, 3.0]], {"query": PAIR, "key": PAIR}, k=2)
    assert_close(two.raw, [4])
    assert_close(two.tie_interval + 1, [[1, 7]])
    assert_close(two.fine_share, [2 / 6])


@pytest.mark.parametrize("p", [1, 0.5, 2])
@pytest.mark.parametrize("k", [1, 4, 7, 12, 400])
def test_head_entropy_matches_the_reference(rng, k, p):
    X = rng.normal(size=(3, 4, 2)) + 0.3
    trees = {"query": random_tree(rng, 3), "key": random_tree(rng, 4)}
    found = hb.head_entropy(X, trees, k=k, p=p)
    assert (found.k, found.n_functions, found.p, len(found)) == (min(k, 12), 12, p, 2)
    for head in range(2):
        expected = reference_of(X[:, :, head], list(trees.values()), k, p)
        for name in FIGURES:
            assert_close(getattr(found, name)[head], expected[name], scale=SCALE[name])


@pytest.mark.parametrize("k", [1, 5, 11, 24])
def test_network_entropy_matches_the_reference(rng, k):
    X = rng.normal(size=(3, 2, 4)) - 0.2
    trees = {"query": random_tree(rng, 3), "key": PAIR, "head": random_tree(rng, 4)}
    found = hb.network_entropy(X, trees, k=k, p=1)
    expected = reference_of(X, list(trees.values()), k, 1)
    for name in FIGURES:
        assert_close(getattr(found, name), expected[name], scale=SCALE[name])
    assert isinstance(found.raw, float)
    assert (found.k, found.n_functions) == (k, 24)


def test_sorted_coefficients_come_in_the_total_order(rng):
    X = rng.normal(size=(4, 5, 3))
    trees = {"query": random_tree(rng, 4), "key": random_tree(rng, 5)}
    functions = {
        0: haar_functions(trees["query"].levels.tolist()),
        1: haar_functions(trees["key"].levels.tolist()),
    }
    coefficients = haar_coefficients(X, functions)
    order = product_order(list(functions.values()))
    found = hb.sorted_coefficients(X, trees, k=13)
    assert_close(found, [coefficients[index] for index in order[:13]])
    turned = hb.sorted_coefficients(np.moveaxis(X, 2, 0), trees, k=13, axes=("head", "query", "key"))
    assert_close(turned, found)
    assert hb.sorted_coefficients(X, trees, k=400).shape == (20, 3)


def test_a_tree_on_no_axis_is_refused(rng):
    halves = hb.PartitionTree([[0, 0], [0, 1]])
    with pytest.raises(hb.HaarborError, match="'head'"):
        hb.sorted_coefficients(rng.random((2, 2)), {"query": halves, "head": halves})


def test_entropy_is_the_sum_over_sorted_coefficients(rng):
    X = rng.normal(size=(9, 8, 4))
    trees = {"query": random_tree(rng, 9), "key": random_tree(rng, 8)}
    found = hb.head_entropy(X, trees, k=20, p=1.5)
    assert_close(found.raw, (np.abs(hb.sorted_coefficients(X, trees, k=20)) ** 1.5).sum(axis=0))


def test_zero_and_constant_heads_have_no_ratios_to_fail_on():
    X = np.zeros((4, 4, 3))
    X[:, :, 1] = 0.1
    X[:, :, 2] = np.arange(16).reshape(4, 4)
    found = hb.head_entropy(X, {"query": HALVES, "key": HALVES}, k=5)
    for name in ("raw", "normalised", "mean_removed", "energy_share", "all_scales", "fine_share", "norm"):
        assert getattr(found, name)[0] == 0
    assert found.mean_removed[1] == 0
    assert_close(found.constant[1], 0.4)
    assert_close(found.energy_share[1], 1.0)
    assert found.mean_removed[2] > 0


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_adding_a_constant_leaves_the_mean_removed_figure(rng, offset):
    # Rounding of the data themselves allows an error of about 1e-16 * offset.
    X = rng.normal(size=(8, 8, 3))
    trees = {"query": random_tree(rng, 8), "key": random_tree(rng, 8)}
    expected = hb.head_entropy(X - X.mean(axis=(0, 1)), trees, k=12).mean_removed
    found = hb.head_entropy(X + offset, trees, k=12).mean_removed
    np.testing.assert_allclose(found, expected, rtol=1e-14 * offset)


def test_scaling_a_head_scales_its_entropy_and_no_ratio(rng):
    X = rng.normal(size=(6, 7, 2))
    trees = {"query": random_tree(rng, 6), "key": random_tree(rng, 7)}
    one, three = hb.head_entropy(X, trees, k=9, p=2), hb.head_entropy(3 * X, trees, k=9, p=2)
    assert_close(three.raw, 9 * one.raw)
    assert_close(three.tie_interval, 9 * one.tie_interval)
    assert_close(three.constant, 3 * one.constant)
    for name in ("normalised", "mean_removed", "energy_share", "fine_share"):
        assert_close(getattr(three, name), getattr(one, name))


def test_head_axis_can_stand_anywhere_and_its_tree_is_not_used(rng):
    X = rng.normal(size=(4, 5, 3))
    trees = {"query": random_tree(rng, 4), "key": random_tree(rng, 5), "head": random_tree(rng, 3)}
    expected = hb.head_entropy(X, trees, k=6)
    turned = hb.head_entropy(np.moveaxis(X, 2, 0), trees, k=6, axes=("head", "query", "key"))
    assert_close(turned.raw, expected.raw)
    assert_close(turned.tie_interval, expected.tie_interval)
    single = hb.head_entropy(X[:, :, 1], trees, k=6)
    assert_close(single.raw, expected.raw[1:2])


def test_float32_entropies_are_within_rounding_of_float64(rng):
    X = rng.normal(size=(20, 18, 4))
    trees = {"query": random_tree(rng, 20), "key": random_tree(rng, 18)}
    one, two = hb.head_entropy(X.astype(np.float32), trees, k=50), hb.head_entropy(X, trees, k=50)
    for name in FIGURES:
        assert_close(getattr(one, name), getattr(two, name), np.float32)


def test_results_are_read_only_and_say_what_they_are():
    found = hb.head_entropy(np.ones((2, 2, 3)), {"query": PAIR, "key": PAIR}, k=2)
    assert repr(found) == "HeadEntropy(3 heads, k=2 of 4, p=1)"
    with pytest.raises(ValueError, match="read-only"):
        found.raw[0] = 1
    network = hb.network_entropy([[3.0, 1.0], [1.0, 3.0]], {"query": PAIR, "key": PAIR}, k=4)
    assert repr(network) == "NetworkEntropy(6, normalised 1.342, k=4 of 4, p=1)"


@pytest.mark.parametrize("entropy", [hb.head_entropy, hb.network_entropy])
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"p": 0}, hb.SettingError, "p must be positive and finite; found 0"),
        ({"p": -1}, hb.SettingError, "p must be positive and finite; found -1"),
        ({"p": float("nan")}, hb.SettingError, "p must be positive and finite; found nan"),
        ({"k": 0}, hb.SettingError, "k must be a whole number from 1; found 0"),
        ({"k": 2.0}, hb.SettingError, "k must be a whole number from 1; found 2.0"),
        ({"trees": {"query": PAIR}}, hb.TreeError, r"missing \['key'\]"),
        ({"trees": {"query": PAIR, "key": HALVES}}, hb.ShapeError, "axis 'key' must have 2 items"),
        ({"axes": ("query",)}, hb.ShapeError, "found 1 names"),
    ],
)
def test_bad_settings_are_refused(entropy, settings, error, message):
    given = {"trees": {"query": PAIR, "key": PAIR}, **settings}
    with pytest.raises(error, match=message):
        entropy(np.ones((2, 2)), **given)
