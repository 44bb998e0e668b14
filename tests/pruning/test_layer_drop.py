"""Whole layers that hardly turn the residual stream."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from haarbor.errors import PruningError
from haarbor.pruning import NetworkHeads, layer_moments, network_heads
from haarbor.pruning._layer_drop import layer_drop_ranks
from haarbor.pruning._model_batches import forward
from tests.pruning.builders import layer_heads, moments_of
from tests.pruning.small_networks import batches, network


def made(cosine, sizes):
    """Moments of a layer of heads of one channel that write as much as these sizes say."""
    x = np.sqrt(2) * np.diag(sizes)
    return replace(moments_of(x, np.ones((1, len(sizes))), np.ones(len(sizes))), cosine=cosine)


def test_by_hand():
    heads = NetworkHeads((layer_heads(2, 1), layer_heads(2, 1), layer_heads(2, 1)))
    moments = [made(0.9, [2.0, 1.0]), made(0.99, [1.0, 5.0]), made(-0.2, [0.1, 0.2])]
    assert layer_drop_ranks(moments, heads).tolist() == [3, 2, 0, 1, 4, 5]


def test_the_cosine_is_that_of_the_residual_stream_before_and_after():
    model, data = network("llama"), batches("llama", 2)
    heads = network_heads(model, data[0])
    found = [moment.cosine for moment in layer_moments(model, heads, data)]
    layers = model.model.layers
    seen = [[] for _ in layers]
    for number, layer in enumerate(layers):
        layer.register_forward_pre_hook(
            lambda _m, args, kwargs, number=number: seen[number].append(
                args[0] if args else kwargs["hidden_states"]
            ),
            with_kwargs=True,
        )
        layer.post_attention_layernorm.register_forward_pre_hook(
            lambda _m, args, number=number: seen[number].append(args[0])
        )
    with torch.no_grad():
        for batch in data:
            forward(model, batch)
    for number, pairs in enumerate(seen):
        cosines = []
        for before, after in zip(pairs[::2], pairs[1::2], strict=True):
            for a, b in zip(
                before.reshape(-1, before.shape[-1]).double(),
                after.reshape(-1, after.shape[-1]).double(),
                strict=True,
            ):
                cosines.append(float(a @ b / (a.norm() * b.norm())))
        assert found[number] == pytest.approx(np.mean(cosines), abs=1e-6)


def test_without_a_residual_stream_it_says_so(rng):
    moments = [moments_of(rng.normal(size=(20, 2)), np.ones((1, 2)))]
    with pytest.raises(PruningError, match="the residual stream of layer 0 was not found"):
        layer_drop_ranks(moments, NetworkHeads((layer_heads(2, 1),)))
