"""Means and products of the heads' outputs over calibration tokens."""

import numpy as np
import pytest
import torch

from haarbor.pruning import layer_moments, network_heads
from tests.assertions import assert_close
from tests.pruning.builders import projection_inputs
from tests.pruning.small_networks import batches, network


@pytest.mark.parametrize("name", ["gpt2", "llama", "zoo-txl"])
def test_streamed_moments_are_those_of_all_tokens_together(name):
    model, data = network(name), batches(name, 3)
    heads = network_heads(model, data[0])
    blocks = {}
    handles = [
        model.get_submodule(layer.block).register_forward_pre_hook(
            lambda _m, args, kwargs, block=layer.block: blocks.setdefault(block, []).append(
                args[0] if args else kwargs["hidden_states"]
            ),
            with_kwargs=True,
        )
        for layer in heads.layers
    ]
    inputs = projection_inputs(model, heads, data)
    for handle in handles:
        handle.remove()
    for layer, found, (x, y) in zip(heads.layers, layer_moments(model, heads, data), inputs, strict=True):
        stream = (
            torch.cat([part.reshape(-1, part.shape[-1]) for part in blocks[layer.block]]).double().numpy() + y
        )
        energy = np.square(stream).sum(1)
        weighted = x / energy[:, None]
        assert found.n_tokens == len(x)
        assert_close(found.second, x.T @ x / len(x), np.float32)
        assert_close(found.mean, x.mean(0), np.float32)
        assert_close(found.covariance, np.cov(x.T, ddof=0), np.float32)
        assert_close(found.relative_second, weighted.T @ x / len(x), np.float32)
        assert_close(found.residual_energy, energy.mean(), np.float32)
        centre = weighted.sum(0) / (1 / energy).sum()
        expected = ((x - centre) / energy[:, None]).T @ (x - centre) / len(x)
        assert_close(found.relative_covariance, expected, np.float32)


def test_an_output_that_is_normalised_counts_by_what_is_added():
    model, data = network("gemma3"), batches("gemma3", 2)
    heads = network_heads(model, data[0])
    layer, norm = heads.layers[1], model.model.layers[1].post_attention_layernorm
    seen = []
    norm.register_forward_hook(lambda _m, args, out: seen.append((args[0], out)))
    model.model.layers[1].register_forward_pre_hook(
        lambda _m, args, kwargs: seen.append(args[0] if args else kwargs["hidden_states"]), with_kwargs=True
    )
    inputs, outputs = projection_inputs(model, heads, data)[1]
    rows = [part.reshape(-1, 32).double().numpy() for part in (seen[0], *seen[1], seen[2], *seen[3])]
    before, added = np.concatenate([rows[0], rows[3]]), np.concatenate([rows[2], rows[5]])
    np.testing.assert_allclose(np.concatenate([rows[1], rows[4]]), outputs, atol=1e-6)
    factor = np.linalg.norm(added, axis=1) / np.linalg.norm(outputs, axis=1)
    energy = np.square(before + added).sum(1) / factor**2
    found = layer_moments(model, heads, data)[1]
    assert layer.norm == "model.layers.1.post_attention_layernorm"
    assert_close(found.residual_energy, energy.mean(), np.float32)
    assert_close(found.relative_second, (inputs / energy[:, None]).T @ inputs / len(inputs), np.float32)
