"""Pruned networks that transformers loads without Haarbor."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from haarbor.errors import PruningError
from haarbor.pruning import compensate, prune_heads, standard_model
from tests.pruning.builders import answer, assert_same, everything

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
