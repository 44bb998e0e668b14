"""Networks whose heads are switched off for good."""

import numpy as np
import pytest
import torch
from torch import nn

from haarbor.errors import PruningError
from haarbor.pruning import mask_heads, model_batches, network_heads, prune_heads, removed_heads
from tests.pruning.builders import answer, assert_same, everything


@pytest.mark.parametrize("name", ["opt", "albert", "t5"])
@pytest.mark.parametrize("replacement", ["zero", "mean"])
def test_networks_as_large_as_before_compute_what_the_masked_ones_do(name, replacement):
    model, heads, data, removed = everything(name)
    whole = answer(model, data[1])
    means = [np.linspace(-1, 1, layer.width) for layer in heads.layers] if replacement == "mean" else None
    masked = mask_heads(model, heads, removed, batch=data[0], means=means)
    with removed_heads(model, heads, removed, means=means):
        expected = answer(model, data[1])
    assert_same(answer(masked, data[1]), expected)
    # A second time: layers that share a projection are told apart by counting, anew in every forward.
    assert_same(answer(masked, data[1]), expected)
    assert not torch.allclose(expected, whole, atol=1e-3)
    torch.testing.assert_close(answer(model, data[1]), whole)


def test_a_forward_that_was_broken_off_does_not_mix_up_the_layers_that_share_weights():
    model, heads, data, removed = everything("albert")
    masked = mask_heads(model, heads, removed, batch=data[0])
    expected = answer(masked, data[1])
    shared = masked.get_submodule(heads.layers[0].projection)
    shared(torch.zeros(1, 1, 32))
    assert_same(answer(masked, data[1]), expected)


def test_layers_that_share_one_multihead_attention_are_refused():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

        def forward(self, x):
            for _ in range(2):
                x = x + self.attention(x, x, x, need_weights=False)[0]
            return x

    torch.manual_seed(0)
    model, (batch,) = Shared().eval(), model_batches(torch.randn(1, 4, 8))
    heads = network_heads(model, batch)
    for make in (prune_heads, mask_heads):
        with pytest.raises(PruningError, match=r"can still be removed by a\s+mask"):
            make(model, heads, [(1, 0)], batch=batch)
