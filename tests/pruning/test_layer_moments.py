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
