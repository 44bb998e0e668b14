"""The heads that stay, refitted to make up for the removed ones."""

import numpy as np
import pytest
import torch

from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.pruning import compensate, compensated, model_batches, network_heads, removed_heads
from haarbor.pruning._compensation import fitted_projection
from haarbor.pruning._model_batches import forward
from tests.assertions import assert_close
from tests.pruning.builders import answer, assert_same, layer_heads, moments_of, projection_inputs
from tests.pruning.small_networks import batches, network

LAYER = layer_heads(3)


@pytest.fixture
def layer(rng):
    x = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6)) + rng.normal(size=6)
    return x, rng.normal(size=(5, 6)), rng.normal(size=5)


def test_the_refit_is_least_squares_with_an_intercept(layer):
    x, weight, bias = layer
    fit = fitted_projection(moments_of(x, weight, bias=bias), LAYER, np.array([1]), ridge=0.0)
    design = np.column_stack([x[:, [0, 1, 4, 5]], np.ones(len(x))])
    solution, *_ = np.linalg.lstsq(design, x @ weight.T + bias, rcond=None)
    assert_close(fit.weight[:, [0, 1, 4, 5]], solution[:4].T, scale=1e3)
    assert_close(fit.bias, solution[4], scale=1e3)
    assert not fit.weight[:, 2:4].any()
    residual = x @ weight.T + bias - design @ solution
    assert_close(fit.error, np.square(residual).sum(1).mean(), scale=1e3)


def test_ridge_pulls_towards_the_weights_as_they_were(layer):
    x, weight, bias = layer
    kept, ridge = [0, 1, 4, 5], 0.7
    fit = fitted_projection(moments_of(x, weight, bias=bias), LAYER, np.array([1]), ridge=ridge)
    strength = ridge * np.var(x, axis=0).mean()
    centred, lost = x[:, kept] - x[:, kept].mean(0), x[:, 2:4] - x[:, 2:4].mean(0)
    design = np.vstack([centred / len(x) ** 0.5, strength**0.5 * np.eye(4)])
    target = np.vstack([lost @ weight[:, 2:4].T / len(x) ** 0.5, np.zeros((4, 5))])
    change = np.linalg.lstsq(design, target, rcond=None)[0].T
    assert_close(fit.weight[:, kept], weight[:, kept] + change, scale=1e3)
    far = fitted_projection(moments_of(x, weight, bias=bias), LAYER, np.array([1]), ridge=1e12)
    assert_close(far.weight[:, kept], weight[:, kept], scale=1e9)


def test_a_head_that_follows_from_the_others_is_recovered_exactly(rng):
    x = rng.normal(size=(50, 6))
    x[:, 2:4] = x[:, [0, 1, 4, 5]] @ rng.normal(size=(4, 2)) + rng.normal(size=2)
    weight, bias = rng.normal(size=(5, 6)), rng.normal(size=5)
    fit = fitted_projection(moments_of(x, weight, bias=bias), LAYER, np.array([1]), ridge=0.0)
    assert_close(x @ fit.weight.T + fit.bias, x @ weight.T + bias, scale=1e3)
    assert fit.error < 1e-20 * fit.mean_error + 1e-20


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 10.0])
def test_the_refit_is_never_worse_than_mean_replacement_on_calibration_data(layer, ridge):
    x, weight, bias = layer
    for removed in ([0], [1, 2], [0, 2]):
        fit = fitted_projection(moments_of(x, weight, bias=bias), LAYER, np.array(removed), ridge=ridge)
        gone = [channel for head in removed for channel in (2 * head, 2 * head + 1)]
        filled = x.copy()
        filled[:, gone] = x[:, gone].mean(0)
        by_mean = np.square((x - filled) @ weight.T).sum(1).mean()
        missing = x @ weight.T + bias - (x @ fit.weight.T + fit.bias)
        assert_close(fit.mean_error, by_mean)
        assert_close(fit.error, np.square(missing).sum(1).mean(), scale=by_mean)
        assert fit.error <= fit.mean_error


def test_a_layer_without_heads_keeps_its_mean(layer):
    x, weight, bias = layer
    fit = fitted_projection(moments_of(x, weight, bias=bias), LAYER, np.arange(3))
    assert not fit.weight.any()
    assert_close(fit.bias, x.mean(0) @ weight.T + bias)


@pytest.mark.parametrize("method", ["parallel", "sequential"])
@pytest.mark.parametrize(
    "name", ["gpt2", "llama", "bert", "albert", "multihead", "multihead-sequence-first", "zoo-vit"]
)
def test_the_compensated_network_uses_the_refitted_projections(name, method):
    model, data = network(name), batches(name, 4)
    heads = network_heads(model, data[0])
    found = compensate(model, heads, [(0, 1), (1, 0), (1, 2)], data, method=method)
    assert [fit is not None for fit in found.fits][:2] == [True, True]
    whole = answer(model, data[0])
    with compensated(model, heads, found):
        repaired = answer(model, data[0])
    assert_same(answer(model, data[0]), whole)
    assert not torch.allclose(repaired, whole, atol=1e-3)
    for fit in found.fits:
        assert fit is None or fit.error <= fit.mean_error * (1 + 1e-9)


def test_the_parallel_fit_of_a_layer_equals_numpy_least_squares():
    model, data = network("llama"), batches("llama", 6)
    heads = network_heads(model, data[0])
    found = compensate(model, heads, [(1, 0)], data, ridge=0.0)
    x, y = projection_inputs(model, heads, data)[1]
    design = np.column_stack([x[:, 8:], np.ones(len(x))])
    solution = np.linalg.lstsq(design, y, rcond=None)[0]
    best = np.square(y - design @ solution).sum(1).mean()
    assert found.fits[1].error == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(found.fits[1].weight[:, 8:], solution[:-1].T, atol=1e-3)


def test_the_sequential_fit_of_a_layer_sees_the_network_pruned_below_it():
    model, data = network("llama"), batches("llama", 6)
    heads = network_heads(model, data[0])
    removed = [(0, 3), (1, 0)]
    found = compensate(model, heads, removed, data, method="sequential", ridge=0.0)
    target = projection_inputs(model, heads, data)[1][1]
    first = compensate(model, heads, [(0, 3)], data, ridge=0.0)
    # The lowest layer has nothing below it: both methods agree there.
    np.testing.assert_allclose(found.fits[0].weight, first.fits[0].weight, atol=1e-3)
    with compensated(model, heads, first):
        x = projection_inputs(model, heads, data)[1][0]
    design = np.column_stack([x[:, 8:], np.ones(len(x))])
    solution = np.linalg.lstsq(design, target, rcond=None)[0]
    best = np.square(target - design @ solution).sum(1).mean()
    assert found.fits[1].error == pytest.approx(best, rel=1e-3)


def test_compensation_repairs_a_network_with_a_copied_head():
    model, data = network("gpt2"), batches("gpt2", 6)
    heads = network_heads(model, data[0])
    with torch.no_grad():
        for part in range(3):
            attn = model.transformer.h[1].attn.c_attn
            attn.weight[:, part * 32 + 8 : part * 32 + 16] = attn.weight[:, part * 32 : part * 32 + 8]
            attn.bias[part * 32 + 8 : part * 32 + 16] = attn.bias[part * 32 : part * 32 + 8]
    whole = answer(model, data[0])
    with removed_heads(model, heads, [(1, 1)]):
        assert not torch.allclose(answer(model, data[0]), whole, atol=0.1)
    with compensated(model, heads, compensate(model, heads, [(1, 1)], data, ridge=1e-9)):
        torch.testing.assert_close(answer(model, data[0]), whole, rtol=0, atol=1e-3)


def test_padding_does_not_enter_the_fit():
    model, full = network("bert"), batches("bert", 3)
    cut = model_batches([{name: value[:, :11] for name, value in batch.inputs.items()} for batch in full])
    heads = network_heads(model, full[0])
    for method in ("parallel", "sequential"):
        one, two = (compensate(model, heads, [(0, 1)], data, method=method) for data in (full, cut))
        np.testing.assert_allclose(one.fits[0].weight, two.fits[0].weight, atol=1e-4)


def test_wrong_settings_are_refused():
    model, data = network("llama"), batches("llama", 2)
    heads = network_heads(model, data[0])
    with pytest.raises(SettingError, match="method must be 'parallel' or 'sequential'"):
        compensate(model, heads, [0], data, method="magic")
    with pytest.raises(SettingError, match="ridge must not be negative"):
        compensate(model, heads, [0], data, ridge=-1.0)
    uneven = [batches("llama")[0], model_batches({"input_ids": torch.ones(1, 9, dtype=torch.long)})[0]]
    with pytest.raises(DataError, match="must have one shape; found 2"):
        compensate(model, heads, [0], uneven, method="sequential")
    found = compensate(model, heads, [0], data)
    other = network("multihead")
    with (
        pytest.raises(ShapeError, match="one entry per layer, 2; found 3"),
        compensated(other, network_heads(other, data[0]), found),
    ):
        pass


def test_refitted_weights_follow_the_model_to_another_precision():
    model, data = network("llama"), batches("llama", 2)
    heads = network_heads(model, data[0])
    fits = compensate(model, heads, [1, 6], data)
    with torch.no_grad(), compensated(model, heads, fits):
        single = forward(model, data[0]).logits
        double = forward(model.double(), data[0]).logits
    assert double.dtype == torch.float64
    np.testing.assert_allclose(single, double, atol=1e-4 * float(double.abs().max()))
