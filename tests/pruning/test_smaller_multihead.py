"""nn.MultiheadAttention made smaller, against the whole one with the columns of its heads set to zero."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from haarbor.pruning import (
    compensate,
    compensated,
    model_batches,
    n_parameters,
    network_heads,
    prune_heads,
    removed_heads,
)
from haarbor.pruning._smaller_attention import shrink_layer
from haarbor.pruning._smaller_multihead import SmallerMultihead
from tests.pruning.builders import assert_same

KEPT = np.array([0, 2, 3])
GONE = [1, 4, 5]
WIDTH = 4


def both(**options):
    """A whole layer whose removed heads write nothing, and the smaller one."""
    torch.manual_seed(0)
    whole = nn.MultiheadAttention(24, 6, **options).eval()
    with torch.no_grad():
        for weight in whole.parameters():
            weight.copy_(torch.randn_like(weight) / 3)
        for head in GONE:
            whole.out_proj.weight[:, head * WIDTH : (head + 1) * WIDTH] = 0.0
    holder = nn.ModuleList([copy.deepcopy(whole)])
    kept = np.concatenate([np.arange(WIDTH) + head * WIDTH for head in KEPT])
    smaller = SmallerMultihead(holder[0], KEPT).eval()
    smaller.out_proj = nn.Linear(kept.size, 24, bias=whole.out_proj.bias is not None)
    with torch.no_grad():
        smaller.out_proj.weight.copy_(whole.out_proj.weight[:, kept])
        if whole.out_proj.bias is not None:
            smaller.out_proj.bias.copy_(whole.out_proj.bias)
    return whole, smaller


PADDING = torch.tensor([[False] * 5, [False, False, False, True, True]])
CAUSAL = torch.ones(5, 5, dtype=torch.bool).triu(1)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize(
    "masks",
    [
        {},
        {"key_padding_mask": PADDING},
        {"attn_mask": CAUSAL},
        {"attn_mask": CAUSAL, "is_causal": True},
        {"attn_mask": CAUSAL, "key_padding_mask": PADDING},
        {"attn_mask": torch.zeros(5, 5).masked_fill(CAUSAL, float("-inf"))},
        {"attn_mask": torch.randn(2 * 6, 5, 5, generator=torch.Generator().manual_seed(1))},
        {"attn_mask": torch.rand(2 * 6, 5, 5, generator=torch.Generator().manual_seed(1)) > 0.9},
    ],
    ids=["none", "padding", "causal", "hinted", "both", "additive", "of-every-head", "closed-by-head"],
)
@pytest.mark.parametrize("batch_first", [True, False])
def test_it_computes_what_the_whole_one_does_without_the_heads(batch_first, masks, need_weights):
    whole, smaller = both(batch_first=batch_first)
    x, memory = torch.randn(2, 2, 5, 24)
    if not batch_first:
        x, memory = x.transpose(0, 1), memory.transpose(0, 1)
    with torch.no_grad():
        expected, _ = whole(x, memory, memory, need_weights=need_weights, **masks)
        found, weights = smaller(x, memory, memory, need_weights=need_weights, **masks)
    assert_same(found, expected)
    assert (weights is None) is not need_weights


@pytest.mark.parametrize(
    "options", [{"bias": False}, {"kdim": 7, "vdim": 9}, {"kdim": 7, "vdim": 9, "bias": False}]
)
def test_keys_of_another_width_and_layers_without_bias(options):
    whole, smaller = both(batch_first=True, **options)
    x = torch.randn(2, 5, 24)
    key = torch.randn(2, 4, options.get("kdim", 24))
    value = torch.randn(2, 4, options.get("vdim", 24))
    with torch.no_grad():
        assert_same(smaller(x, key, value)[0], whole(x, key, value)[0])


def test_samples_without_a_batch_axis_and_weights_by_head():
    whole, smaller = both()
    x = torch.randn(5, 24)
    with torch.no_grad():
        expected, weights = whole(x, x, x, key_padding_mask=PADDING[1], average_attn_weights=False)
        found, own = smaller(x, x, x, key_padding_mask=PADDING[1], average_attn_weights=False)
        assert_same(found, expected)
        assert_same(own, weights[KEPT])
        assert smaller(x, x, x)[1].shape == (5, 5)


def test_a_causal_hint_without_a_mask_is_refused_as_by_the_whole_one():
    whole, smaller = both(batch_first=True)
    x = torch.randn(1, 5, 24)
    for module in (whole, smaller):
        with pytest.raises(RuntimeError, match="Need attn_mask"):
            module(x, x, x, is_causal=True)


class _Network(nn.Module):
    """An encoder that may use nested tensors, and a decoder beside it."""

    def __init__(self, norm_first=False):
        super().__init__()
        layer = nn.TransformerEncoderLayer(24, 6, 32, dropout=0.0, batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first)
        cross = nn.TransformerDecoderLayer(24, 6, 32, dropout=0.0, batch_first=True)
        self.decoder = nn.TransformerDecoder(cross, 1)

    def forward(self, x, padding=None):
        mask = None if padding is None else padding.bool()
        memory = self.encoder(x, src_key_padding_mask=mask)
        return self.decoder(x[:, :3], memory, memory_key_padding_mask=mask)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_transformer_layers_of_torch_hold_it(norm_first, padded):
    """In eval mode without gradients they would take the fused path, which computes with the whole width."""
    torch.manual_seed(3)
    model = _Network(norm_first).eval()
    inputs = {"x": torch.randn(2, 5, 24)}
    if padded:
        inputs["padding"] = PADDING.long()
    (batch,) = model_batches(inputs)
    heads = network_heads(model, batch)
    # Two layers of the encoder, and of the decoder the attention to itself and that to the encoder.
    assert len(heads) == 4
    removed = [(0, 1), (0, 2), (1, 5), (2, 0), (3, 3)]
    fits = compensate(model, heads, removed, [batch])
    smaller = prune_heads(model, heads, removed, batch=batch, compensation=fits)
    with torch.no_grad():
        with compensated(model, heads, fits):
            expected = model(**batch.inputs)
        found = smaller(**batch.inputs)
        # An even number of heads is left in the first layer, and an odd one in the second.
        assert_same(found, expected)
    assert_same(smaller(**batch.inputs).detach(), expected)
    assert n_parameters(model) - n_parameters(smaller) == 5 * (3 * 4 * 25 + 4 * 24)
    # The smaller network is understood like any other: its heads are found, and can be switched off.
    left = network_heads(smaller, batch)
    assert [layer.n_heads for layer in left.layers] == [4, 5, 5, 5]
    with removed_heads(smaller, left, [(0, 0)]):
        assert not torch.allclose(smaller(**batch.inputs), expected, atol=1e-4)


def test_it_still_learns():
    model = _Network().train()
    (batch,) = model_batches({"x": torch.randn(2, 5, 24)})
    heads = network_heads(model.eval(), batch)
    shrink_layer(model, heads.layers[0], np.array([0]), np.ones((24, 24)), np.zeros(24))
    model.train()(**batch.inputs).square().sum().backward()
    attention = model.encoder.layers[0].self_attn
    assert attention.q_proj_weight.grad.abs().sum() > 0
    assert attention.training
