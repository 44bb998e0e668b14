"""How much a network's output changes without each head."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from haarbor.errors import DataError
from haarbor.pruning import (
    HeadResponses,
    _probed_changes,
    compensate,
    compensated,
    head_responses,
    layer_moments,
    model_batches,
    network_heads,
)
from haarbor.pruning import _network_probe as probe
from haarbor.pruning._compensation import fitted_projection
from haarbor.pruning._metrics import logits_of
from haarbor.pruning._model_batches import forward
from tests.pruning.builders import layer_heads, moments_of
from tests.pruning.small_networks import MADE_SMALLER, MASKED_ONLY, Encoder, batches, network

# The package has a function of this name.
module = sys.modules["haarbor.pruning._head_responses"]
# Heads in several turns take long, and one network of each kind tells whether it is right.
_SEVERAL_TURNS = ("gpt2", "vit")
_QUICK = ("gpt2", "llama", "vit", "multihead-rows")
NETWORKS = [
    *MADE_SMALLER,
    *(name for name in MASKED_ONLY if name not in ("multihead", "clip")),
    "multihead-rows",
]


def relative_entropies(model, heads, moments, rows, which):
    """Change without each of some heads, one head and one sample at a time."""
    found = np.zeros((len(rows), len(which)))
    for place, head in enumerate(which):
        fits = compensate(model, heads, [head], None, moments=moments)
        for number, row in enumerate(rows):
            with torch.no_grad():
                whole = torch.softmax(logits_of(forward(model, row))[0].double(), dim=-1)
                with compensated(model, heads, fits):
                    without = torch.softmax(logits_of(forward(model, row))[0].double(), dim=-1)
            change = (whole * (whole / without).log()).sum(-1)
            valid = row.valid
            if valid is not None and valid[0].shape == change.shape:
                change = change[valid[0]]
            found[number, place] = change.mean()
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in _QUICK else pytest.mark.slow) for n in NETWORKS]
)
def test_responses_are_the_relative_entropies_of_removing_each_head(name, monkeypatch):
    # The reference runs the network once per head and row.
    model, data = network(name), batches(name, 1 if name in ("t5", "bart") else 2)
    heads = network_heads(model, data[0])
    moments = layer_moments(model, heads, data)
    rows = [row for batch in data for row in batch.rows()]
    found = head_responses(model, heads, moments, data)
    # Those with an encoder and a decoder are slow; every fifth head falls on each kind of layer in turn.
    which = np.arange(0, heads.n_heads, 5 if name in ("t5", "bart") else 1)
    expected = relative_entropies(model, heads, moments, rows, which)
    assert found.values.shape == (heads.n_heads,)
    scale = expected.max()
    assert scale > 1e-7
    # The samples come in an order of their own.
    order = np.argsort(found.by_sample[:, 0]), np.argsort(expected[:, 0])
    by_sample = found.by_sample[:, which]
    np.testing.assert_allclose(by_sample[order[0]], expected[order[1]], rtol=2e-3, atol=2e-3 * scale)
    np.testing.assert_allclose(found.values[which], expected.mean(0), rtol=2e-3, atol=2e-3 * scale)
    if name not in _SEVERAL_TURNS:
        return
    # All rows from the start give the same; and so do heads in several turns.
    monkeypatch.setattr(probe, "_is_same", lambda *_: False)
    monkeypatch.setattr(probe, "_MOST_NUMBERS", 1)
    again = head_responses(model, heads, moments, data)
    np.testing.assert_allclose(again.values, found.values, rtol=2e-3, atol=2e-3 * scale)


@pytest.mark.parametrize("ridge", [0.01, 0.1, 2.0])
def test_stand_ins_give_the_fits_without_each_head(rng, ridge):
    x = rng.normal(size=(90, 8)) @ rng.normal(size=(8, 8)) + rng.normal(size=8)
    layer = moments_of(x, rng.normal(size=(5, 8)), np.ones(90))
    stand_in = module.stand_ins(layer, layer_heads(4, 2), ridge=ridge)
    for head in range(4):
        part = slice(2 * head, 2 * head + 2)
        expected = fitted_projection(layer, layer_heads(4, 2), np.array([head]), ridge=ridge)
        missing = layer.weight[:, part] @ stand_in[part]
        np.testing.assert_allclose(layer.weight - missing, expected.weight, atol=1e-9)
        np.testing.assert_allclose(layer.bias + missing @ layer.mean, expected.bias, atol=1e-9)


def test_a_batch_that_cannot_grow_on_its_way_is_repeated_from_the_start(monkeypatch):
    model, data = network("gpt2"), batches("gpt2", 1)
    heads = network_heads(model, data[0])
    moments = layer_moments(model, heads, data)
    free = head_responses(model, heads, moments, data)
    sizes = []

    def strict(_module, args, kwargs, output):
        rows = kwargs["input_ids"].shape[0]
        sizes.append(rows)
        if output.logits.shape[0] != rows:
            raise ValueError("batch sizes differ")

    handle = model.register_forward_hook(strict, with_kwargs=True)
    bound = head_responses(model, heads, moments, data)
    handle.remove()
    assert max(sizes) == heads.layers[0].n_heads
    np.testing.assert_allclose(bound.values, free.values, rtol=1e-3, atol=1e-7)


class Vectors(nn.Module):
    """Answers with vectors instead of scores."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = Encoder(True)

    def forward(self, input_ids):
        return BaseModelOutput(last_hidden_state=self.inner(input_ids))


def test_vectors_are_compared_by_the_square_of_their_difference():
    model = Vectors().eval()
    data = model_batches({"input_ids": torch.randint(3, 97, (2, 9))})
    heads = network_heads(model, data[0])
    moments = layer_moments(model, heads, data)
    found = head_responses(model, heads, moments, data)
    for head in (0, heads.n_heads - 1):
        with torch.no_grad():
            whole = forward(model, data[0]).last_hidden_state.double()
            with compensated(model, heads, compensate(model, heads, [head], None, moments=moments)):
                other = forward(model, data[0]).last_hidden_state.double()
        expected = ((other - whole).square().sum(-1) / whole.square().sum(-1)).mean()
        assert found.values[head] == pytest.approx(float(expected), rel=1e-3)


def test_enough_samples_are_probed_and_no_more(monkeypatch):
    model, data = network("llama"), batches("llama", 5)
    heads = network_heads(model, data[0])
    moments = layer_moments(model, heads, data)
    assert head_responses(model, heads, moments, data).n_answers == 140  # 5 x 2 texts of 14 tokens
    assert head_responses(model, heads, moments, data, n_answers=30).n_answers == 42
    monkeypatch.setattr(_probed_changes, "N_SAMPLES", 2)
    found = head_responses(model, heads, moments, data, n_answers=47)
    assert found.by_sample.shape == (2, heads.n_heads)
    # A sixteenth of the answers, where that is more samples.
    assert head_responses(model, heads, moments, data, n_answers=48).by_sample.shape[0] == 3


def test_only_answers_that_count_are_compared():
    model, data = network("llama"), batches("llama", 1)
    heads = network_heads(model, data[0])
    moments = layer_moments(model, heads, data)
    late = torch.arange(14).expand(2, 14) >= 10
    found = head_responses(model, heads, moments, [replace(data[0], counted=late)])
    assert found.n_answers == 8
    fits = compensate(model, heads, [3], None, moments=moments)
    with torch.no_grad():
        whole = torch.log_softmax(forward(model, data[0]).logits.double(), dim=-1)
        with compensated(model, heads, fits):
            without = torch.log_softmax(forward(model, data[0]).logits.double(), dim=-1)
    expected = (whole.exp() * (whole - without)).sum(-1)[late].mean()
    assert found.values[3] == pytest.approx(float(expected), rel=2e-3)


def test_responses_of_some_samples_are_their_mean_by_answers():
    responses = HeadResponses(
        values=np.array([2.5]), by_sample=np.array([[1.0], [3.0], [3.0]]), counts=np.array([10, 20, 10])
    )
    assert responses.n_answers == 40
    assert responses.over(slice(0, 2)).values.tolist() == pytest.approx([7 / 3])
    assert responses.over(slice(1, None, 2)).n_answers == 20
    assert responses.over(slice(5, None)) is responses


def test_samples_without_answers_that_count_are_left_out():
    model, data = network("llama"), batches("llama", 1)
    heads = network_heads(model, data[0])
    moments = layer_moments(model, heads, data)
    none = torch.zeros((2, 14), dtype=torch.bool)
    second = none.clone()
    second[1, 5] = True
    found = head_responses(model, heads, moments, [replace(data[0], counted=second)])
    assert found.counts.tolist() == [1]
    assert np.isfinite(found.values).all()
    with pytest.raises(DataError, match="must hold answers that count"):
        head_responses(model, heads, moments, [replace(data[0], counted=none)])
