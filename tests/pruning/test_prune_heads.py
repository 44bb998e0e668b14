import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from haarbor.errors import PruningError
from haarbor.pruning import (
    compensate,
    compensated,
    layer_moments,
    n_parameters,
    network_heads,
    prune_heads,
    removed_heads,
    standard_model,
)
from tests.pruning.small_networks import MADE_SMALLER, MASKED_ONLY, batches, network
from tests.pruning.test_ablation import answer, assert_same

HEADS = [(0, 1), (1, 0), (1, 2), (2, 3), (2, 2)]


def everything(name, removed=HEADS):
    model, data = network(name), batches(name, 3)
    heads = network_heads(model, data[0])
    return model, heads, data, [pair for pair in removed if pair[0] < len(heads)]


@pytest.mark.parametrize("name", MADE_SMALLER)
@pytest.mark.parametrize("replacement", ["zero", "mean", "refit"])
def test_the_smaller_network_computes_what_the_masked_one_does(name, replacement):
    model, heads, data, removed = everything(name)
    whole = answer(model, data[1])
    options, masked = {}, removed_heads(model, heads, removed)
    if replacement == "mean":
        options["means"] = [layer.mean for layer in layer_moments(model, heads, data[:1])]
        masked = removed_heads(model, heads, removed, means=options["means"])
    elif replacement == "refit":
        options["compensation"] = compensate(model, heads, removed, data[:1])
        masked = compensated(model, heads, options["compensation"])
    smaller = prune_heads(model, heads, removed, batch=data[0], **options)
    with masked:
        expected = answer(model, data[1])
    assert_same(answer(smaller, data[1]), expected)
    assert not torch.allclose(expected, whole, atol=1e-3)
    torch.testing.assert_close(answer(model, data[1]), whole)
    assert n_parameters(smaller) < n_parameters(model)


def test_parameters_of_the_removed_heads_are_gone():
    model, heads, data, removed = everything("gpt2")
    smaller = prune_heads(model, heads, removed, batch=data[0])
    # A head of GPT-2 has 3 x 8 rows of 32 weights and a bias, and 8 columns of 32.
    assert n_parameters(model) - n_parameters(smaller) == len(removed) * (3 * 8 * 33 + 8 * 32)
    sizes = [layer.attn.c_proj.weight.shape[0] for layer in smaller.transformer.h]
    assert sizes == [24, 16, 16]


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


@pytest.mark.parametrize("name", MASKED_ONLY)
def test_other_networks_are_refused_and_told_of_masks(name):
    model, heads, data, removed = everything(name, [(0, 1)])
    with pytest.raises(PruningError, match=r"[Hh]eads can still be removed by a mask"):
        prune_heads(model, heads, removed, batch=data[0])


def test_a_layer_must_keep_a_head():
    model, heads, data, _ = everything("bert")
    with pytest.raises(PruningError, match="would lose all 4"):
        prune_heads(model, heads, [(1, head) for head in range(4)], batch=data[0])


def test_a_compensation_for_other_heads_is_refused():
    model, heads, data, removed = everything("bert")
    found = compensate(model, heads, [(0, 0)], data)
    with pytest.raises(PruningError, match="it is for others"):
        prune_heads(model, heads, removed, batch=data[0], compensation=found)


UNIFORM = [(layer, head) for layer in range(3) for head in (0, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "mistral", "qwen3", "vit"])
@pytest.mark.parametrize("refit", [False, True])
def test_uniform_pruning_gives_a_checkpoint_that_transformers_loads_alone(name, refit, tmp_path):
    model, heads, data, _ = everything(name)
    found = compensate(model, heads, UNIFORM, data) if refit else None
    smaller = prune_heads(model, heads, UNIFORM, batch=data[0], compensation=found)
    removed = heads.mask(UNIFORM)
    if refit and name == "mistral":
        with pytest.raises(PruningError, match="a bias where it had none"):
            standard_model(smaller, heads, removed, data[0])
        return
    standard_model(smaller, heads, removed, data[0]).save_pretrained(tmp_path)
    inputs = {key: value.tolist() for key, value in data[1].inputs.items()}
    (tmp_path / "inputs.json").write_text(json.dumps(inputs))
    code = (
        "import json, sys, numpy, torch, transformers\n"
        "folder = sys.argv[1]\n"
        f"model = transformers.{type(model).__name__}.from_pretrained(folder).eval()\n"
        "inputs = {k: torch.tensor(v) for k, v in json.load(open(folder + '/inputs.json')).items()}\n"
        "assert not any('haarbor' in name for name in sys.modules)\n"
        "print(model.config.num_attention_heads)\n"
        "with torch.no_grad():\n"
        "    numpy.save(folder + '/found.npy', model(**inputs).logits.numpy())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2"]
    assert_same(torch.as_tensor(np.load(tmp_path / "found.npy")), answer(smaller, data[1]))


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_architectures_without_a_width_of_heads_have_no_standard_checkpoint(name):
    model, heads, data, _ = everything(name)
    smaller = prune_heads(model, heads, UNIFORM, batch=data[0])
    with pytest.raises(PruningError, match=r"load it with haarbor\.load_pruned"):
        standard_model(smaller, heads, heads.mask(UNIFORM), data[0])


def test_uneven_layers_have_no_standard_checkpoint():
    model, heads, data, removed = everything("llama")
    smaller = prune_heads(model, heads, removed, batch=data[0])
    with pytest.raises(PruningError, match="same number of heads left in every layer"):
        standard_model(smaller, heads, heads.mask(removed), data[0])
    model, heads, data, removed = everything("zoo-vit", UNIFORM)
    smaller = prune_heads(model, heads, removed, batch=data[0])
    with pytest.raises(PruningError, match="only models of transformers"):
        standard_model(smaller, heads, heads.mask(removed), data[0])
