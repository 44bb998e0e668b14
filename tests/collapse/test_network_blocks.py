import pytest

pytest.importorskip("transformers")

import torch
from torch import nn
from torch.nn import functional

from haarbor.collapse import network_blocks
from haarbor.errors import CollapseError
from haarbor.pruning import model_batches
from tests.pruning.small_networks import batches, network


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gpt2", "norm first"),
        ("llama", "norm first"),
        ("bert", "norm last"),
        ("distilbert", "norm last"),
        ("vit", "norm first"),
        ("gpt_neox", "parallel"),
        ("zoo-txl", "norm first"),
        ("multihead", "norm last"),
    ],
)
def test_the_parts_of_known_families_are_found(name, kind):
    blocks = network_blocks(network(name), batches(name)[0])
    assert {parts.kind for parts in blocks.blocks} == {kind}
    for parts in blocks.blocks:
        assert len({parts.block, parts.attention, parts.mlp}) == 3
        assert all(name.startswith(f"{parts.block}.") for name in (parts.attention, parts.mlp, *parts.norms))
        assert {parts.first_norm, parts.second_norm} <= set(parts.norms)


def test_norms_of_queries_and_keys_belong_to_the_attention():
    parts = network_blocks(network("qwen3"), batches("qwen3")[0]).blocks[0]
    assert parts.norms == (parts.first_norm, parts.second_norm)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("albert", "one module serves several layers of AlbertForMaskedLM"),
        ("t5", "must stand in one list of modules with one attention each; those of T5"),
        ("opt", r"layers\.0 of OPTForCausalLM is built in another way"),
    ],
)
def test_other_structures_are_one_clear_line(name, message):
    with pytest.raises(CollapseError, match=message) as raised:
        network_blocks(network(name), batches(name)[0])
    assert "\n" not in str(raised.value)


class Layer(nn.Module):
    """Attention and MLP without skips, or with skips that are scaled."""

    def __init__(self, share):
        super().__init__()
        self.share = share
        self.one, self.two = nn.LayerNorm(8), nn.LayerNorm(8)
        self.maps, self.output, self.mlp = nn.Linear(8, 24), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (2, 4)).transpose(1, 2) for y in self.maps(self.one(x)).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = self.share * x + self.output(mixed)
        return self.share * x + self.mlp(self.two(x))


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_network_without_plain_skips_is_refused(share):
    torch.manual_seed(0)
    model = nn.Sequential(Layer(share), Layer(share)).eval()
    batch = model_batches(torch.randn(1, 4, 8))[0]
    with pytest.raises(CollapseError, match="0 of Sequential is built in another way"):
        network_blocks(nn.Sequential(model).eval(), batch)
