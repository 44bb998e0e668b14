"""Attention modules made smaller."""

import pytest
import torch

from haarbor.errors import PruningError
from haarbor.pruning import prune_heads, removed_heads
from tests.pruning.builders import everything


def test_a_key_value_head_goes_when_all_its_query_heads_go():
    model, heads, data, removed = everything("llama", [(0, 0), (0, 1), (1, 0), (1, 3), (2, 1)])
    smaller = prune_heads(model, heads, removed, batch=data[0])
    layers = [layer.self_attn for layer in smaller.model.layers]
    assert [layer.q_proj.out_features for layer in layers] == [16, 16, 24]
    assert layers[0].k_proj.out_features == 8
    assert layers[0].num_key_value_groups == 2
    assert layers[1].k_proj.out_features == 16
    assert layers[1].num_key_value_groups == 1
    # Key-value heads with one and with two query heads: the keys are made once and handed out.
    assert layers[2].k_proj.linear.out_features == 16
    assert layers[2].v_proj.source.tolist() == [*range(8), *range(8, 16), *range(8, 16)]


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_smaller_network_still_generates(name):
    model, heads, data, removed = everything(name, [(0, 0), (2, 1)])
    smaller = prune_heads(model, heads, removed, batch=data[0])
    ids = data[0].inputs["input_ids"][:1]
    options = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
    with removed_heads(model, heads, removed):
        expected = model.generate(ids, **options)
    torch.testing.assert_close(smaller.generate(ids, **options), expected)


def test_a_layer_must_keep_a_head():
    model, heads, data, _ = everything("bert")
    with pytest.raises(PruningError, match="would lose all 4"):
        prune_heads(model, heads, [(1, head) for head in range(4)], batch=data[0])
