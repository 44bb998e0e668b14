"""Refits of a layer for all choices of its heads, from one inverse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.pruning._compensation import fitted_projection
from haarbor.pruning._layer_refits import LayerRefits
from tests.assertions import assert_close
from tests.pruning.builders import layer_heads, moments_of

SEEDS = st.integers(0, 2**32 - 1)
WIDTHS = (1, 2, 3)


def made(seed, n_heads=4, head_width=2, silent=()):
    """A layer whose heads depend on each other, and some give nothing."""
    rng = np.random.default_rng(seed)
    layer = layer_heads(n_heads, head_width)
    x = rng.normal(size=(60, layer.width)) @ rng.normal(size=(layer.width, layer.width))
    x += rng.normal(size=layer.width)
    for head in silent:
        x[:, layer.channels(head)] = 0.0
    return layer, x, moments_of(x, rng.normal(size=(5, layer.width)), bias=rng.normal(size=5))


def choices(n_heads):
    """Every choice of the heads of a layer."""
    return [[head for head in range(n_heads) if number >> head & 1] for number in range(2**n_heads)]


@given(
    SEEDS, st.sampled_from(WIDTHS), st.sampled_from([1e-3, 0.1, 10.0]), st.sampled_from([(), (1,), (0, 3)])
)
def test_every_choice_is_refitted_as_if_by_itself(seed, head_width, ridge, silent):
    layer, _, moments = made(seed, head_width=head_width, silent=silent)
    refits = LayerRefits(moments, layer, ridge=ridge)
    for removed in choices(4):
        weight, bias = refits.projection(removed)
        expected = fitted_projection(moments, layer, np.array(removed, int), ridge=ridge)
        np.testing.assert_allclose(weight, expected.weight, rtol=0, atol=1e-8 * np.abs(expected.weight).max())
        np.testing.assert_allclose(bias, expected.bias, rtol=0, atol=1e-8 * np.abs(expected.bias).max())
        gone = [channel for head in removed for channel in range(layer.width)[layer.channels(head)]]
        assert not weight[:, gone].any()


def test_without_a_ridge_a_refit_is_least_squares_with_an_intercept():
    layer, x, moments = made(3)
    y = x @ moments.weight.T + moments.bias
    for removed in choices(4)[1:-1]:
        kept = [c for head in range(4) if head not in removed for c in range(8)[layer.channels(head)]]
        solution = np.linalg.lstsq(np.column_stack([x[:, kept], np.ones(len(x))]), y, rcond=None)[0]
        weight, bias = LayerRefits(moments, layer, ridge=0.0).projection(removed)
        np.testing.assert_allclose(weight[:, kept], solution[:-1].T, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(bias, solution[-1], rtol=1e-7, atol=1e-8)


def test_a_layer_that_always_gives_the_same_has_nothing_to_refit():
    """Its covariance is zero: no weight changes, and what a head gave goes into the bias."""
    layer, constant = layer_heads(3), np.array([4.0, -2.0, 0.0, 1.0, 8.0, 0.5])
    weight = np.arange(12.0).reshape(2, 6)
    for x in (np.tile(constant, (5, 1)), np.zeros((5, 6))):
        moments = moments_of(x, weight)
        assert not moments.covariance.any()
        refits = LayerRefits(moments, layer)
        for removed in choices(3):
            found, bias = refits.projection(removed)
            kept = np.repeat([head not in removed for head in range(3)], 2)
            np.testing.assert_allclose(found, np.where(kept, weight, 0.0), atol=1e-12)
            np.testing.assert_allclose(bias, weight[:, ~kept] @ x[0, ~kept], atol=1e-12)
            expected = fitted_projection(moments, layer, np.array(removed, int))
            np.testing.assert_allclose(found, expected.weight, atol=1e-12)
            left, right = refits.single_heads(removed)
            np.testing.assert_allclose(left, weight, atol=1e-12)
            np.testing.assert_allclose(right, np.eye(6), atol=1e-12)


@given(SEEDS, st.sampled_from(WIDTHS), st.sampled_from([(), (2,)]))
def test_a_single_head_is_the_difference_of_two_refits(seed, head_width, silent):
    layer, _, moments = made(seed, head_width=head_width, silent=silent)
    refits = LayerRefits(moments, layer)
    for removed in choices(4):
        left, right = refits.single_heads(removed)
        assert (left.shape, right.shape) == ((5, layer.width), (layer.width, layer.width))
        for head in range(4):
            part = layer.channels(head)
            without = fitted_projection(moments, layer, np.array(sorted({*removed, head}), int))
            others = np.array([other for other in removed if other != head], int)
            beside = fitted_projection(moments, layer, others)
            given_alone = left[:, part] @ right[part]
            scale = np.abs(moments.weight).max()
            np.testing.assert_allclose(given_alone, beside.weight - without.weight, atol=1e-8 * scale)
            # Of what differs from the mean: the mean itself is in the bias either way.
            np.testing.assert_allclose(
                given_alone @ moments.mean, without.bias - beside.bias, atol=1e-7 * scale
            )


@given(SEEDS, st.integers(-40, 40))
def test_weights_do_not_depend_on_the_unit_of_what_heads_give(seed, power):
    layer, x, moments = made(seed)
    plain, scaled = (moments_of(values, moments.weight) for values in (x, np.ldexp(x, power)))
    for removed in ([1], [0, 2], [0, 1, 3]):
        (one, bias), (two, other) = (LayerRefits(each, layer).projection(removed) for each in (plain, scaled))
        assert_close(two, one)
        assert_close(np.ldexp(other, -power), bias)


@given(SEEDS)
def test_the_order_of_the_heads_says_nothing_and_moments_stay_as_they_are(seed):
    layer, _, moments = made(seed)
    before = moments.weight.copy(), moments.second.copy(), moments.bias.copy()
    refits = LayerRefits(moments, layer)
    order = np.random.default_rng(seed).permutation(4)[:3].tolist()
    first = refits.projection(order)
    refits.single_heads(order)
    for again in (tuple(order[::-1]), frozenset(order), np.array(order)[[2, 0, 1]].tolist()):
        for one, two in zip(refits.projection(again), first, strict=True):
            np.testing.assert_array_equal(one, two)
    whole, bias = refits.projection([])
    np.testing.assert_array_equal(whole, moments.weight)
    np.testing.assert_array_equal(bias, moments.bias)
    for now, then in zip((moments.weight, moments.second, moments.bias), before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize("ridge", [0.01, 1.0])
def test_a_ridge_is_relative_to_the_mean_variance(ridge):
    layer, x, moments = made(5)
    strength = ridge * np.var(x, axis=0).mean()
    kept, gone = [0, 1, 6, 7], [2, 3, 4, 5]
    centred = (x - x.mean(0)) / np.sqrt(len(x))
    design = np.vstack([centred[:, kept], np.sqrt(strength) * np.eye(4)])
    target = np.vstack([centred[:, gone] @ moments.weight[:, gone].T, np.zeros((4, 5))])
    change = np.linalg.lstsq(design, target, rcond=None)[0].T
    weight, _ = LayerRefits(moments, layer, ridge=ridge).projection([1, 2])
    np.testing.assert_allclose(weight[:, kept], moments.weight[:, kept] + change, rtol=1e-8)
