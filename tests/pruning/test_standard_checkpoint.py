"""Pruned networks that transformers loads without Haarbor."""

import itertools
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


def test_uneven_layers_have_no_standard_checkpoint():
    model, heads, data, removed = everything("llama")
    smaller = prune_heads(model, heads, removed, batch=data[0])
    with pytest.raises(PruningError, match="same number of heads left in every layer"):
        standard_model(smaller, heads, heads.mask(removed), data[0])
    model, heads, data, removed = everything("zoo-vit", UNIFORM)
    smaller = prune_heads(model, heads, removed, batch=data[0])
    with pytest.raises(PruningError, match="only models of transformers"):
        standard_model(smaller, heads, heads.mask(removed), data[0])
