"""Where the heads of a network are, and how they are named."""

import numpy as np
import pytest
import torch
from torch import nn

from haarbor.errors import PruningError, SettingError
from haarbor.pruning import NetworkHeads, model_batches, network_heads
from tests.capturing.small_models import NEVER_CALL_THE_INTERFACE
from tests.pruning.builders import layer_heads
from tests.pruning.small_networks import MADE_SMALLER, MASKED_ONLY, batches, network

PROJECTIONS = {
    "gpt2": ("transformer.h.1.attn.c_proj", "transformer.h.1"),
    "llama": ("model.layers.1.self_attn.o_proj", "model.layers.1"),
    "bert": ("bert.encoder.layer.1.attention.output.dense", "bert.encoder.layer.1"),
    "distilbert": ("distilbert.transformer.layer.1.attention.out_lin", "distilbert.transformer.layer.1"),
    "vit": ("vit.layers.1.attention.o_proj", "vit.layers.1"),
    "zoo-txl": ("layers.1.attention.output", "layers.1"),
    "zoo-vit": ("layers.1.attention.output", "layers.1"),
    "multihead": ("encoder.layers.1.self_attn.out_proj", "encoder.layers.1"),
}


@pytest.mark.parametrize("name", PROJECTIONS)
def test_output_projections_and_blocks_are_found(name):
    heads = network_heads(network(name), batches(name)[0])
    layer = heads.layers[1]
    assert (layer.projection, layer.block) == PROJECTIONS[name]
    assert layer.n_heads == 4
    assert layer.head_width == (6 if name == "zoo-txl" else 8)
    assert layer.head_group == (2 if name == "llama" else 1)
    # A norm of the sum with the residual stream is none of the output.
    assert layer.norm is None


def test_a_norm_between_the_output_and_the_residual_stream_is_found():
    heads = network_heads(network("gemma3"), batches("gemma3")[0])
    assert [layer.norm for layer in heads.layers] == [
        f"model.layers.{number}.post_attention_layernorm" for number in range(3)
    ]


@pytest.mark.parametrize("name", [*MADE_SMALLER, *MASKED_ONLY])
def test_every_attention_layer_has_a_site(name):
    expected = {"t5": 9, "bart": 7, "multihead": 2}.get(name, 3)
    assert len(network_heads(network(name), batches(name)[0])) == expected


def test_layers_that_share_weights_are_told_apart_by_their_calls():
    heads = network_heads(network("albert"), batches("albert")[0])
    assert [layer.call for layer in heads.layers] == [0, 1, 2]
    assert len({layer.projection for layer in heads.layers}) == 1
    assert heads.shares_weights


def test_no_hook_is_left_behind():
    model = network("llama")
    network_heads(model, batches("llama")[0])
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", NEVER_CALL_THE_INTERFACE)
def test_heads_of_models_that_attend_by_themselves_are_found(name):
    small = NEVER_CALL_THE_INTERFACE[name]
    heads = network_heads(small.build("eager"), model_batches(small.batch())[0])
    found = [(layer.projection, layer.n_heads, layer.head_width) for layer in heads.layers]
    after = {
        "bloom": "transformer.h.{}.self_attention.dense",
        "deberta": "deberta.encoder.layer.{}.attention.output.dense",
    }
    assert found == [(after[name].format(layer), 4, 8) for layer in range(3)]


class _Mixing(nn.Module):
    """Attention whose heads are averaged before the next linear map."""

    def __init__(self):
        super().__init__()
        self.qkv, self.after = nn.Linear(8, 24), nn.Linear(6, 8)

    def forward(self, x):
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 4, 2).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.after(mixed.transpose(1, 2).flatten(2)[..., :6])


class _NoProjection(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 4, 2).permute(2, 0, 3, 1, 4)
        return nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


@pytest.mark.parametrize(
    ("model", "message"),
    [(_Mixing(), "must come together in the input"), (_NoProjection(), "a linear map of their own")],
)
def test_heads_that_cannot_be_told_apart_are_refused(model, message):
    with pytest.raises(PruningError, match=message):
        network_heads(model.eval(), model_batches(torch.randn(1, 5, 8))[0])


def test_a_model_in_training_is_refused():
    with pytest.raises(PruningError, match="eval mode"):
        network_heads(network("gpt2").train(), batches("gpt2")[0])


LAYER = layer_heads(3)
NETWORK = NetworkHeads((LAYER, LAYER))


@pytest.mark.parametrize(
    "heads",
    [[(1, 0), (0, 2)], [3, 2], np.array([[0, 0, 1], [1, 0, 0]], bool), np.array([0, 0, 1, 1, 0, 0], bool)],
)
def test_heads_can_be_named_in_four_ways(heads):
    assert NETWORK.mask(heads).tolist() == [False, False, True, True, False, False]
    assert [part.tolist() for part in NETWORK.by_layer(NETWORK.mask(heads))] == [[2], [0]]


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([(2, 0)], "no head 0 in a layer 2"),
        ([(0, 3)], "no head 3 in a layer 0"),
        ([6], "from 0 to 5"),
        ([-1], "from 0 to 5"),
        ([0.5], "heads must be pairs"),
        (np.zeros(5, bool), "heads must be pairs"),
    ],
)
def test_heads_that_are_not_there_are_refused(heads, message):
    with pytest.raises(SettingError, match=message):
        NETWORK.mask(heads)


def test_no_heads_is_nothing_removed():
    assert not NETWORK.mask([]).any()
