"""Paths of real networks: all of them together are what the network gives."""

from itertools import product

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from haarbor.collapse import network_blocks, network_paths, switched_off
from haarbor.errors import CollapseError, DataError, SettingError
from haarbor.pruning import forward, model_batches
from haarbor.store import load_results_file, save_results_file
from tests.pruning.small_networks import network

IDS = {"input_ids": torch.randint(3, 97, (1, 7), generator=torch.Generator().manual_seed(0))}
IMAGE = torch.randn(1, 3, 16, 16, generator=torch.Generator().manual_seed(1))


def inputs_of(name):
    if name in ("zoo-vit", "vit"):
        return {"": IMAGE} if name == "zoo-vit" else {"pixel_values": IMAGE}
    return {"": IDS["input_ids"]} if name == "zoo-txl" else IDS


def made(name):
    """Network in float64 whose biases and gains all matter."""
    model = network(name).double()
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 1:
                weight.add_(0.3 * torch.randn(weight.shape, generator=generator, dtype=weight.dtype))
    inputs = inputs_of(name)
    return model, {
        key: value.double() if value.is_floating_point() else value for key, value in inputs.items()
    }


def last_state(model, inputs, variant):
    (batch,) = model_batches([inputs])
    inner = getattr(model, "base_model", model)
    states = []
    blocks = network_blocks(inner, batch)
    with torch.no_grad(), switched_off(inner, blocks, variant, on_state=lambda _, x: states.append(x[0])):
        forward(inner, batch)
    return states[0].numpy(), states[-1].numpy()


@pytest.mark.parametrize("mlps", [True, False])
@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "gpt_neox", "vit", "zoo-txl", "zoo-vit"])
def test_all_paths_together_are_the_output(name, mlps):
    model, inputs = made(name)
    first, last = last_state(model, inputs, "as it is" if mlps else "no MLPs")
    found = network_paths(model, inputs, mlps=mlps, n_most=2)
    total = (found.tokens.output + found.mlps + found.biases).sum(axis=0)
    # The capture gives attention in float32.
    np.testing.assert_allclose(total, last, rtol=0, atol=1e-5 * np.abs(last).max())
    assert found.error < 1e-5
    if name != "bert":
        np.testing.assert_allclose(found.tokens.output[0], first, atol=1e-12)
    assert bool(found.mlps.any()) == mlps


def hand_sums(model, ids):
    """Sums of the paths from the tokens by length, from the weights of GPT-2, one path after the other."""
    weights = {name: value.detach().numpy() for name, value in model.transformer.state_dict().items()}
    n_heads, x = model.config.n_head, weights["wte.weight"][ids] + weights["wpe.weight"][: len(ids)]
    tokens, layers = x, []
    for layer in range(model.config.n_layer):
        part = {
            name[len(f"h.{layer}.") :]: v for name, v in weights.items() if name.startswith(f"h.{layer}.")
        }
        scale = 1 / np.sqrt(x.var(axis=1, keepdims=True) + model.config.layer_norm_epsilon)
        gain, shift = part["ln_1.weight"], part["ln_1.bias"]
        read = (x - x.mean(axis=1, keepdims=True)) * scale * gain + shift
        q, k, v = np.split(read @ part["attn.c_attn.weight"] + part["attn.c_attn.bias"], 3, axis=1)
        width = q.shape[1] // n_heads
        heads, added = [], part["attn.c_proj.bias"]
        for head in range(n_heads):
            own = slice(head * width, (head + 1) * width)
            scores = q[:, own] @ k[:, own].T / np.sqrt(width)
            scores[np.triu_indices(len(ids), 1)] = -np.inf
            p = np.exp(scores - scores.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            out = part["attn.c_proj.weight"][own]
            added = added + p @ v[:, own] @ out
            value = part["attn.c_attn.weight"][:, 2 * q.shape[1] :][:, own]
            heads.append((p, value @ out))
        layers.append((scale, gain, heads))
        x = x + added
    sums = np.zeros((len(layers) + 1, *x.shape))
    norms = [[] for _ in range(len(layers) + 1)]
    for path in product(range(-1, n_heads), repeat=len(layers)):
        y = tokens
        for head, (scale, gain, heads) in zip(path, layers, strict=True):
            if head >= 0:
                p, mapped = heads[head]
                y = p @ ((y - y.mean(axis=1, keepdims=True)) * scale * gain) @ mapped
        length = sum(head >= 0 for head in path)
        sums[length] += y
        norms[length].append(np.sqrt(np.abs(y).sum(axis=0).max() * np.abs(y).sum(axis=1).max()))
    return sums, [float(np.mean(each)) for each in norms]


def test_sums_and_norms_are_those_of_paths_written_by_hand():
    model, inputs = made("gpt2")
    found = network_paths(model, inputs, mlps=False, n_most=100)
    sums, norms = hand_sums(model, inputs["input_ids"][0].numpy())
    np.testing.assert_allclose(found.tokens.output, sums, rtol=0, atol=1e-5 * np.abs(sums).max())
    np.testing.assert_allclose(found.tokens.norm, norms, rtol=1e-4)
    assert found.tokens.n_paths.tolist() == [1, 12, 48, 64]
    assert (found.tokens.norm_error == 0).all()


def test_sampled_paths_have_errors_and_agree_with_all_within_them():
    model, inputs = made("gpt2")
    exact, drawn = (network_paths(model, inputs, n_most=n, seed=3).tokens for n in (100, 30))
    assert drawn.n_taken.tolist() == [1, 12, 30, 30]
    assert (drawn.norm_error[2:] > 0).all()
    assert (np.abs(drawn.norm - exact.norm)[2:] < 4 * drawn.norm_error[2:]).all()
    np.testing.assert_array_equal(drawn.output, exact.output)


def test_the_result_can_be_stored(tmp_path):
    model, inputs = made("gpt2")
    found = network_paths(model, inputs, n_most=2)
    kept = load_results_file(save_results_file(found, tmp_path / "paths.npz"))
    np.testing.assert_array_equal(kept.mlps, found.mlps)
    assert kept.shares()["tokens"] == pytest.approx(found.tokens.share)


def test_rejections():
    model, inputs = made("gpt2")
    with pytest.raises(SettingError, match="mlps must be True or False"):
        network_paths(model, inputs, mlps="no")
    padded = {**inputs, "attention_mask": torch.tensor([[1] * 5 + [0] * 2])}
    with pytest.raises(DataError, match="no padding"):
        network_paths(model, padded)
    with pytest.raises(CollapseError, match="Choose"):
        network_paths(network("albert"), IDS)
    with pytest.raises(CollapseError, match=r"mix values of single tokens|built in another way"):
        network_paths(network("multihead"), IDS["input_ids"])
