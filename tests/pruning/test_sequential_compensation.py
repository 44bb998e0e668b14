"""Layers refitted one after another, towards the residual stream of the whole network."""

import numpy as np
import pytest
import torch

from haarbor.errors import DataError, SettingError
from haarbor.pruning import _sequential_compensation as module
from haarbor.pruning import compensated, network_heads, sequential_compensation
from haarbor.pruning._model_batches import forward
from haarbor.pruning._sequential_compensation import whole_stream
from tests.pruning.builders import CALIBRATION, everything, projection_inputs
from tests.pruning.small_networks import batches, network


def streams(model, data):
    """Residual streams before every layer of a llama, and after the last."""
    seen = [[] for _ in range(len(model.model.layers) + 1)]
    handles = [
        layer.register_forward_pre_hook(
            lambda _m, args, kwargs, number=number: seen[number].append(
                args[0] if args else kwargs["hidden_states"]
            ),
            with_kwargs=True,
        )
        for number, layer in enumerate(model.model.layers)
    ]
    handles.append(model.model.norm.register_forward_pre_hook(lambda _m, args: seen[-1].append(args[0])))
    with torch.no_grad():
        for batch in data:
            forward(model, batch)
    for handle in handles:
        handle.remove()
    return [torch.cat([x.reshape(-1, x.shape[-1]) for x in parts]).double().numpy() for parts in seen]


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_each_layer_is_weighted_least_squares_towards_the_stream_of_the_whole_network(ridge):
    model, heads, data, _ = everything("llama")
    removed = heads.mask([(0, 1), (2, 3)])
    whole_streams, whole = streams(model, data), projection_inputs(model, heads, data)
    found = sequential_compensation(model, heads, removed, data, ridge=ridge)
    assert found.fits[1] is None
    with compensated(model, heads, found):
        pruned_streams = streams(model, data)
        pruned = projection_inputs(model, heads, data)
    for number in (0, 2):
        layer, fit = heads.layers[number], found.fits[number]
        gone = heads.by_layer(removed)[number]
        kept = [channel for channel in range(layer.width) if channel // layer.head_width not in gone]
        after = whole_streams[number] + whole[number][1]
        target = after - pruned_streams[number]
        shares = 1 / np.square(after).sum(1)
        shares /= shares.sum()
        x = pruned[number][0][:, kept]
        x = x - shares @ x
        weight = model.get_submodule(layer.projection).weight.detach().double().numpy()[:, kept]
        missing = target - pruned[number][0][:, kept] @ weight.T
        missing = missing - shares @ missing
        root = np.sqrt(shares)[:, None]
        strength = ridge * np.sum((root * x) ** 2) / len(kept)
        design = np.vstack([root * x, np.sqrt(strength) * np.eye(len(kept))])
        change = np.linalg.lstsq(design, np.vstack([root * missing, np.zeros((len(kept), 32))]), rcond=1e-12)[
            0
        ]
        if ridge:
            np.testing.assert_allclose(fit.weight[:, kept], weight + change.T, atol=1e-4)
        left = np.sum((root * (missing - x @ change)) ** 2)
        assert fit.error == pytest.approx(left, rel=1e-3, abs=1e-7)
        assert fit.error <= fit.mean_error * (1 + 1e-9)
        assert not fit.weight[:, [c for c in range(layer.width) if c not in kept]].any()
        # The bias takes up what is left on average.
        given = pruned[number][0] @ fit.weight.T + fit.bias
        np.testing.assert_allclose(shares @ (target - given), 0, atol=1e-5)


def run_with_rows(model, heads, removed, data, **given):
    """The refit, and the rows of each forward pass for it."""
    rows = []
    handle = model.register_forward_pre_hook(
        lambda _m, args, kwargs: rows.append(len(args[0] if args else next(iter(kwargs.values())))),
        with_kwargs=True,
    )
    found = sequential_compensation(model, heads, removed, data, **given)
    handle.remove()
    return found, rows


@pytest.mark.parametrize("name", ["llama", "gemma3", "bert", "albert", "multihead", "zoo-vit"])
def test_a_whole_network_that_is_known_is_not_run_again(name):
    model, data = network(name), batches(name, 2)
    heads = network_heads(model, data[0])
    whole = whole_stream(model, heads, data)
    for removed in ([(0, 0), (1, 2)], [(1, 1)]):
        expected, rows = run_with_rows(model, heads, removed, data)
        assert rows == [8]
        found, rows = run_with_rows(model, heads, removed, data, whole=whole)
        assert rows == [4]
        for fit, other in zip(found.fits, expected.fits, strict=True):
            if other is None:
                assert fit is None
                continue
            for own, known in ((fit.weight, other.weight), (fit.bias, other.bias)):
                np.testing.assert_allclose(own, known, rtol=0, atol=1e-4 * np.abs(known).max() + 1e-6)
            assert fit.error == pytest.approx(other.error, rel=1e-3, abs=1e-7)
            assert fit.mean_error == pytest.approx(other.mean_error, rel=1e-3, abs=1e-7)


def test_a_whole_network_too_large_to_be_kept_is_not_known(monkeypatch):
    model, heads, data, _ = everything("llama")
    n_bytes = 3 * 6 * 14 * 32 * 4
    monkeypatch.setattr(module, "_MOST_BYTES", n_bytes)
    whole = whole_stream(model, heads, data)
    assert [tuple(target.shape) for target in whole.targets] == 3 * [(6, 14, 32)]
    assert repr(whole) == "WholeStream(3 layers, 6 samples)"
    monkeypatch.setattr(module, "_MOST_BYTES", n_bytes - 1)
    assert whole_stream(model, heads, data) is None


def test_sums_over_parts_of_the_tokens_are_those_over_all(monkeypatch):
    model, heads, data, _ = everything("llama")
    at_once = sequential_compensation(model, heads, [(0, 1), (1, 1)], data)
    monkeypatch.setattr(module, "_AT_ONCE", 50 * 32)
    in_parts = sequential_compensation(model, heads, [(0, 1), (1, 1)], data)
    for fit, other in zip(in_parts.fits[:2], at_once.fits[:2], strict=True):
        np.testing.assert_allclose(fit.weight, other.weight, rtol=0, atol=1e-6 * np.abs(other.weight).max())
        assert fit.error == pytest.approx(other.error, rel=1e-6)


def test_nothing_removed_is_nothing_refitted():
    model, heads, data, _ = everything("llama")
    assert sequential_compensation(model, heads, [], data).fits == (None, None, None)


@pytest.mark.parametrize("name", ["gemma3", "bert", "albert", "multihead", "zoo-vit"])
def test_it_runs_on_every_kind_of_network(name):
    model, data = network(name), batches(name, 2)
    heads = network_heads(model, data[0])
    fits = sequential_compensation(model, heads, [(0, 0), (1, 2)], data).fits
    assert [fit is not None for fit in fits] == [True, True, *[False] * (len(heads) - 2)]
    assert all(np.isfinite(fit.weight).all() and np.isfinite(fit.bias).all() for fit in fits if fit)


def test_what_cannot_be_is_refused():
    model, heads, data, _ = everything("llama")
    with pytest.raises(SettingError, match="ridge must not be negative"):
        sequential_compensation(model, heads, [(0, 0)], data, ridge=-1.0)
    shorter = {"input_ids": CALIBRATION[0].inputs["input_ids"][:, :5]}
    with pytest.raises(DataError, match="they must have one shape"):
        sequential_compensation(model, heads, [(0, 0)], [CALIBRATION[0], shorter])
