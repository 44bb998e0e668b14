import pytest

pytest.importorskip("transformers")

import torch
from torch import nn
from torch.nn import functional

from haarbor.collapse import VARIANTS, network_blocks, switched_off
from haarbor.errors import CollapseError, SettingError
from haarbor.pruning import forward, model_batches
from tests.capturing.small_models import SMALL_MODELS
from tests.collapse.handwritten import HANDWRITTEN
from tests.pruning.small_networks import network


def small_network(name):
    """Network in float64, without the part that scores tokens."""
    model = network(name).double()
    return model.base_model if name in SMALL_MODELS else model


def small_batch(name):
    generator = torch.Generator().manual_seed(1)
    if name == "zoo-vit":
        return model_batches({"pixel_values": torch.randn(2, 3, 16, 16, generator=generator)})[0]
    return model_batches({"input_ids": torch.randint(3, 97, (2, 5), generator=generator)})[0]


def states_of(model, batch, variant, blocks=None):
    found = {}
    blocks = blocks or network_blocks(model, batch)
    with switched_off(model, blocks, variant, on_state=found.__setitem__), torch.no_grad():
        forward(model, batch)
    return [found[depth] for depth in range(len(blocks) + 1)]


@pytest.fixture(scope="module")
def networks():
    return {name: (small_network(name), small_batch(name)) for name in HANDWRITTEN}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", HANDWRITTEN)
def test_every_variant_is_the_network_written_by_hand_without_the_part(networks, name, variant):
    model, batch = networks[name]
    by_hand = HANDWRITTEN[name](model, batch.inputs, VARIANTS[variant])
    # Sinusoids and rotations are computed in float32, whatever the network.
    slack = 2e-6 if name in ("llama", "zoo-txl") else 1e-11
    for depth, (state, exact) in enumerate(zip(states_of(model, batch, variant), by_hand, strict=True)):
        assert (state - exact).abs().max() <= slack * exact.abs().max(), depth


@pytest.mark.parametrize("name", ["gpt2", "llama", "zoo-vit"])
def test_an_mlp_that_is_off_does_not_run(networks, name):
    model, batch = networks[name]
    blocks = network_blocks(model, batch)
    seen = []
    inner = next(iter(model.get_submodule(blocks.blocks[1].mlp).children()))
    handle = inner.register_forward_hook(lambda *_: seen.append(1))
    states_of(model, batch, "no MLPs", blocks)
    assert seen == []
    states_of(model, batch, "no skips", blocks)
    handle.remove()
    assert seen == [1]
    assert not any("forward" in module.__dict__ for module in model.modules())


def test_the_variants_differ_from_each_other(networks):
    model, batch = networks["llama"]
    last = [states_of(model, batch, variant)[-1] for variant in VARIANTS]
    for number, one in enumerate(last):
        for two in last[:number]:
            assert (one - two).abs().max() > 1e-3 * one.abs().max()


class Parallel(nn.Module):
    """A layer whose attention and MLP read the same tokens."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.maps = nn.Linear(8, 24)
        self.output = nn.Linear(8, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 12), nn.GELU(), nn.Linear(12, 8))

    def attend(self, x):
        q, k, v = (y.unflatten(-1, (2, 4)).transpose(1, 2) for y in self.maps(x).chunk(3, dim=-1))
        return self.output(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    def forward(self, x):
        y = self.norm(x)
        return x + self.attend(y) + self.mlp(y)


class Stack(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layers = nn.ModuleList([layer(), layer()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_layers_in_parallel(rng):
    torch.manual_seed(0)
    model = Stack(Parallel).double().eval()
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    batch = model_batches(x)[0]
    assert {parts.kind for parts in network_blocks(model, batch).blocks} == {"parallel"}
    for variant, off in VARIANTS.items():
        expected = x
        with torch.no_grad():
            for layer in model.layers:
                y = expected if "norms" in off else layer.norm(expected)
                total = layer.attend(y)
                total = total if "mlps" in off else total + layer.mlp(y)
                expected = total if "skips" in off else expected + total
        torch.testing.assert_close(states_of(model, batch, variant)[-1], expected, rtol=1e-12, atol=1e-12)


def test_no_hook_and_no_change_is_left_even_after_an_exception(networks):
    model, batch = networks["gpt2"]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    blocks = network_blocks(model, batch)
    with torch.no_grad():
        whole = model(**batch.inputs).last_hidden_state
    with pytest.raises(ZeroDivisionError), switched_off(model, blocks, "no skips"):
        raise ZeroDivisionError
    states_of(model, batch, "attention alone", blocks)
    for module in model.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks
    with torch.no_grad():
        assert torch.equal(model(**batch.inputs).last_hidden_state, whole)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_a_layer_that_no_longer_runs_as_it_did_is_noticed(networks):
    model, batch = networks["gpt2"]
    blocks = network_blocks(model, batch)
    # Something else is added behind the back of the hooks.
    handle = model.h[1].register_forward_hook(lambda _m, _a, out: out + 1.0)
    try:
        with pytest.raises(CollapseError, match=r"h\.1 must run as it did"):
            states_of(model, batch, "no skips", blocks)
    finally:
        handle.remove()


def test_an_unknown_variant_is_refused(networks):
    model, batch = networks["gpt2"]
    with pytest.raises(SettingError, match="variant must be one of 'as it is', 'no skips'"):
        states_of(model, batch, "no heads")
