"""Pruned networks that transformers loads without Haarbor."""

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from haarbor.errors import PruningError
from haarbor.pruning import compensate, network_heads, prune_heads, standard_model
from tests.pruning.builders import answer, assert_same, everything

UNIFORM = [(layer, head) for layer in range(3) for head in (0, 2)]


@pytest.mark.slow
def test_uniform_pruning_gives_checkpoints_that_transformers_loads_alone(tmp_path):
    expected = {}
    for name, refit in itertools.product(["llama", "mistral", "qwen3", "vit"], [False, True]):
        model, heads, data, _ = everything(name)
        found = compensate(model, heads, UNIFORM, data) if refit else None
        smaller = prune_heads(model, heads, UNIFORM, batch=data[0], compensation=found)
        removed = heads.mask(UNIFORM)
        if refit and name == "mistral":
            with pytest.raises(PruningError, match="a bias where it had none"):
                standard_model(smaller, heads, removed, data[0])
            continue
        folder = tmp_path / f"{name}-{refit}"
        standard_model(smaller, heads, removed, data[0]).save_pretrained(folder)
        inputs = {key: value.tolist() for key, value in data[1].inputs.items()}
        (folder / "inputs.json").write_text(json.dumps([type(model).__name__, inputs]))
        expected[folder] = answer(smaller, data[1])
    code = (
        "import json, sys, numpy, torch, transformers\n"
        "for folder in sys.argv[1:]:\n"
        "    name, inputs = json.load(open(folder + '/inputs.json'))\n"
        "    model = getattr(transformers, name).from_pretrained(folder).eval()\n"
        "    inputs = {k: torch.tensor(v) for k, v in inputs.items()}\n"
        "    print(model.config.num_attention_heads)\n"
        "    with torch.no_grad():\n"
        "        numpy.save(folder + '/found.npy', model(**inputs).logits.numpy())\n"
        "assert not any('haarbor' in name for name in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, expected)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2"] * 7
    for folder, logits in expected.items():
        assert_same(torch.as_tensor(np.load(folder / "found.npy")), logits)


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_architectures_without_a_width_of_heads_have_no_standard_checkpoint(name):
    model, heads, data, _ = everything(name)
    smaller = prune_heads(model, heads, UNIFORM, batch=data[0])
    with pytest.raises(PruningError, match=r"load it with haarbor\.load_pruned"):
        standard_model(smaller, heads, heads.mask(UNIFORM), data[0])


def test_numbers_of_heads_that_a_configuration_does_not_take_are_refused_before_anything_is_written():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=97, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4,
    )  # fmt: skip
    model, data = LlamaForCausalLM(config).eval(), everything("llama")[2]
    heads = network_heads(model, data[0])
    # 32 channels are no multiple of 3 heads, and LlamaConfig wants them to be.
    removed = heads.mask([(0, 1), (1, 2)])
    smaller = prune_heads(model, heads, removed, batch=data[0])
    with pytest.raises(PruningError, match=r"LlamaForCausalLM cannot say that it has fewer heads"):
        standard_model(smaller, heads, removed, data[0])


def test_uneven_layers_have_no_standard_checkpoint():
    model, heads, data, removed = everything("llama")
    smaller = prune_heads(model, heads, removed, batch=data[0])
    with pytest.raises(PruningError, match="same number of heads left in every layer"):
        standard_model(smaller, heads, heads.mask(removed), data[0])
    model, heads, data, removed = everything("zoo-vit", UNIFORM)
    smaller = prune_heads(model, heads, removed, batch=data[0])
    with pytest.raises(PruningError, match="only models of transformers"):
        standard_model(smaller, heads, heads.mask(removed), data[0])


def per_layer_llama():
    """Llama whose layers read the configuration of their own, as Step 3.7 of transformers does."""
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.models.llama import modeling_llama

    class PerLayerConfig(LlamaConfig):
        def validate(self):
            """Llama's own check asks for the one number of heads of all layers."""

    class Layer(modeling_llama.LlamaDecoderLayer):
        def __init__(self, config, layer_idx):
            super().__init__(config.per_layer_config[layer_idx], layer_idx)
            self.self_attn.config = config

    class PerLayerLlama(LlamaForCausalLM):
        config_class = PerLayerConfig

        def __init__(self, config):
            whole = modeling_llama.LlamaDecoderLayer
            modeling_llama.LlamaDecoderLayer = Layer
            try:
                super().__init__(config)
            finally:
                modeling_llama.LlamaDecoderLayer = whole

    return PerLayerLlama


@pytest.mark.parametrize("refit", [False, True])
def test_unequal_layers_are_said_by_a_configuration_per_layer(refit, tmp_path):
    kind = per_layer_llama()
    base, heads, data, removed = everything("llama")
    model = kind(kind.config_class(**base.config.to_dict())).eval()
    model.load_state_dict(base.state_dict())
    found = compensate(model, heads, removed, data) if refit else None
    smaller = prune_heads(model, heads, removed, batch=data[0], compensation=found)
    standard_model(smaller, heads, heads.mask(removed), data[0]).save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())["per_layer_config"]
    loaded = kind.from_pretrained(tmp_path).eval()
    # Layer 0 has lost one of a group of two: its three heads have keys of their own.
    own = loaded.config.per_layer_config
    counts = [(own[n].num_attention_heads, own[n].num_key_value_heads) for n in range(3)]
    assert counts == [(3, 3), (2, 2), (2, 1)]
    assert set(settings) <= {"0", "1", "2"}
    assert_same(answer(loaded, data[1]), answer(smaller, data[1]))
    prompt = data[1].tokens[:1, :5]
    options = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(loaded.generate(prompt, **options), smaller.generate(prompt, **options))
