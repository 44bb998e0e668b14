"""Heads switched off, or multiplied by a number, while a block runs."""

import numpy as np
import pytest
import torch

from haarbor.errors import ShapeError
from haarbor.pruning import gated_heads, network_heads, removed_heads
from tests.pruning.builders import EVERY, answer, assert_same
from tests.pruning.small_networks import batches, network


def without_columns(model, heads, removed):
    """The witness: the same heads removed by zeroing the columns of the projection's weight."""
    for layer, head in removed:
        found_layer = heads.layers[layer]
        weight = model.get_submodule(found_layer.projection).weight
        with torch.no_grad():
            if "Conv1D" in type(model.get_submodule(found_layer.projection)).__name__:
                weight[found_layer.channels(head)] = 0.0
            else:
                weight[:, found_layer.channels(head)] = 0.0


@pytest.mark.parametrize("name", [name for name in EVERY if name != "albert"])
def test_a_removed_head_is_one_whose_columns_of_the_projection_are_zero(name):
    model, batch = network(name), batches(name)[0]
    heads = network_heads(model, batch)
    removed = [(0, 1), (1, 0), (1, 3)]
    whole = answer(model, batch)
    with removed_heads(model, heads, removed):
        found = answer(model, batch)
    assert not torch.allclose(found, whole, atol=1e-4)
    assert_same(answer(model, batch), whole)
    without_columns(model, heads, removed)
    assert_same(found, answer(model, batch))


def test_a_head_of_one_layer_goes_where_layers_share_weights():
    model, batch = network("albert"), batches("albert")[0]
    heads = network_heads(model, batch)
    with removed_heads(model, heads, [(1, 2)]):
        middle = answer(model, batch)
    with removed_heads(model, heads, [(0, 2), (1, 2), (2, 2)]):
        everywhere = answer(model, batch)
    whole = answer(model, batch)
    without_columns(model, heads, [(0, 2)])
    assert_same(everywhere, answer(model, batch))
    assert not torch.allclose(middle, everywhere, atol=1e-4)
    assert not torch.allclose(middle, whole, atol=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama", "multihead", "zoo-vit"])
def test_mean_replacement_is_the_removed_part_of_the_mean_in_the_output(name):
    model, batch = network(name), batches(name)[0]
    heads = network_heads(model, batch)
    means = [np.linspace(-1, 1, found_layer.width) for found_layer in heads.layers]
    with removed_heads(model, heads, [(2 if len(heads) > 2 else 1, 1)], means=means):
        found = answer(model, batch)
    found_layer = heads.layers[-1]
    projection = model.get_submodule(found_layer.projection)
    weight = projection.weight.T if "Conv1D" in type(projection).__name__ else projection.weight
    part = found_layer.channels(1)
    with torch.no_grad():
        constant = weight[:, part] @ torch.as_tensor(means[-1][part]).float()
        if projection.bias is None:
            projection.bias = torch.nn.Parameter(torch.zeros(weight.shape[0]))
        projection.bias += constant
        weight[:, part] = 0.0
    assert_same(found, answer(model, batch))


@pytest.mark.parametrize("name", ["llama", "multihead"])
def test_hooks_are_gone_after_an_exception(name):
    model, batch = network(name), batches(name)[0]
    heads = network_heads(model, batch)
    whole = answer(model, batch)
    with pytest.raises(KeyboardInterrupt), removed_heads(model, heads, [(0, 0)]):
        raise KeyboardInterrupt
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    torch.testing.assert_close(answer(model, batch), whole, rtol=0, atol=0)


def test_gates_of_one_change_nothing_and_of_zero_remove():
    model, batch = network("llama"), batches("llama")[0]
    heads = network_heads(model, batch)
    gates = [torch.ones(4) for _ in heads.layers]
    with gated_heads(model, heads, gates):
        torch.testing.assert_close(answer(model, batch), answer(network("llama"), batch), rtol=0, atol=0)
    gates[1][2] = 0.0
    with gated_heads(model, heads, gates):
        gated = answer(model, batch)
    with removed_heads(model, heads, [(1, 2)]):
        torch.testing.assert_close(gated, answer(model, batch), rtol=0, atol=0)


def test_gates_and_means_must_fit_the_layers():
    model, batch = network("llama"), batches("llama")[0]
    heads = network_heads(model, batch)
    with (
        pytest.raises(ShapeError, match="one tensor of gates per layer, 3; found 1"),
        gated_heads(model, heads, [torch.ones(4)]),
    ):
        pass
    with (
        pytest.raises(ShapeError, match="one mean per layer"),
        removed_heads(model, heads, [0], means=[np.ones(32)]),
    ):
        pass
    with (
        pytest.raises(ShapeError, match=r"shape \(32,\)"),
        removed_heads(model, heads, [0], means=[np.ones(31)] * 3),
    ):
        pass
