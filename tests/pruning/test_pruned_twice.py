"""Networks pruned again after they were read from a folder, and what they still can do."""

import json

import pytest
import torch

import haarbor as hb
from haarbor.errors import PruningError
from haarbor.pruning import (
    mask_heads,
    network_heads,
    prune_heads,
    removed_heads,
    save_pruned,
)
from tests.pruning.builders import answer, assert_same, everything

FIRST = [(0, 1), (1, 0), (1, 2)]


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert", "zoo-txl", "zoo-vit", "multihead", "albert"])
def test_a_pruned_network_is_pruned_and_saved_again(name, tmp_path):
    model, heads, data, first = everything(name, FIRST)
    make = mask_heads if name == "albert" else prune_heads
    save_pruned(tmp_path / "one", make(model, heads, first, batch=data[0]), heads, first)
    handed = (model,) if name == "multihead" else ()
    again = hb.load_pruned(tmp_path / "one", *handed)
    left = network_heads(again, data[0])
    # The last of the heads that are left: others than those of the same numbers in the whole network.
    second = [(layer, left.layers[layer].n_heads - 1) for layer in (0, 1)]
    twice = make(again, left, second, batch=data[0])
    save_pruned(tmp_path / "two", twice, left, second)
    back = hb.load_pruned(tmp_path / "two", *handed)
    assert_same(answer(back, data[1]), answer(twice, data[1]))
    # In the numbers of the whole network.
    named = json.loads((tmp_path / "two" / "pruned.json").read_text())["layers"]
    assert [layer["removed"] for layer in named[:2]] == [[1, 3], [0, 2, 3]]
    assert [layer["n_heads"] for layer in named[:2]] == [4, 4]
    with removed_heads(model, heads, [*first, (0, 3), (1, 3)]):
        expected = answer(model, data[1])
    assert_same(answer(back, data[1]), expected)
    if make is prune_heads:
        assert [layer.n_heads for layer in network_heads(back, data[0]).layers][:2] == [2, 1]


def test_uneven_groups_become_even_again(tmp_path):
    model, heads, data, _ = everything("llama")
    assert heads.layers[0].head_group == 2
    one = prune_heads(model, heads, [(0, 1)], batch=data[0])
    assert type(one.model.layers[0].self_attn.k_proj).__name__ == "RepeatedHeads"
    two = prune_heads(one, network_heads(one, data[0]), [(0, 1)], batch=data[0])
    attention = two.model.layers[0].self_attn
    assert isinstance(attention.k_proj, torch.nn.Linear)
    assert attention.num_key_value_groups == 1
    # Heads 0 and 3 are left, with the two key-value heads that there were.
    assert attention.k_proj.weight.shape == model.model.layers[0].self_attn.k_proj.weight.shape
    with removed_heads(model, heads, [(0, 1), (0, 2)]):
        assert_same(answer(two, data[1]), answer(model, data[1]))


def test_pruning_twice_without_saving_is_not_saved_wrongly(tmp_path):
    model, heads, data, first = everything("llama", FIRST)
    save_pruned(tmp_path / "one", prune_heads(model, heads, first, batch=data[0]), heads, first)
    again = hb.load_pruned(tmp_path / "one")
    two = prune_heads(again, network_heads(again, data[0]), [(2, 0)], batch=data[0])
    left = network_heads(two, data[0])
    three = prune_heads(two, left, [(2, 0)], batch=data[0])
    with pytest.raises(PruningError, match="save in between"):
        save_pruned(tmp_path / "three", three, left, [(2, 0)])


@pytest.mark.parametrize("removed", [FIRST, [(0, 0), (0, 1), (1, 1), (2, 0)]])
def test_generation_with_a_cache_gives_what_it_gives_without(removed, tmp_path):
    model, heads, data, _ = everything("llama")
    save_pruned(tmp_path / "one", prune_heads(model, heads, removed, batch=data[0]), heads, removed)
    pruned = hb.load_pruned(tmp_path / "one")
    prompt = data[1].tokens[:1, :5]
    options = {"max_new_tokens": 8, "min_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    cached = pruned.generate(prompt, use_cache=True, **options)
    assert torch.equal(cached, pruned.generate(prompt, use_cache=False, **options))
    assert cached.shape == (1, 13)
    with removed_heads(model, heads, removed):
        assert torch.equal(cached, model.generate(prompt, use_cache=False, **options))


def test_a_checkpoint_of_transformers_is_called_one(tmp_path):
    everything("llama")[0].save_pretrained(tmp_path)
    with pytest.raises(PruningError, match="transformers loads by itself"):
        hb.load_pruned(tmp_path)
