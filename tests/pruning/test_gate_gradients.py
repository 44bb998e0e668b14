"""Gradients by gates: those of several batches at once are those of each."""

import numpy as np
import pytest
import torch

from haarbor.pruning import _gate_gradients as gate_gradients_module
from haarbor.pruning import network_heads
from haarbor.pruning._gate_gradients import gate_gradients
from haarbor.pruning._metrics import METRICS, Metric
from tests.pruning.small_networks import batches, network


def alone(metric):
    return Metric(metric.name, metric.function)


# OPT puts the tokens of all rows on one axis; the last network has its tokens in front.
@pytest.mark.parametrize("name", ["llama", "opt", "zoo-vit", "multihead-sequence-first"])
def test_batches_together_have_the_gradients_of_each(name, monkeypatch):
    model, data = network(name), batches(name, 4, size=2)
    metric = METRICS["classification-loss" if name == "zoo-vit" else "loss"]
    heads = network_heads(model, data[0])
    calls = []
    by_row = gate_gradients_module._by_row
    monkeypatch.setattr(
        gate_gradients_module, "_by_row", lambda *args: calls.append(len(args[2].places)) or by_row(*args)
    )
    found = gate_gradients(model, heads, data, metric)
    assert calls == [4, 4]
    expected = gate_gradients(model, heads, data, alone(metric))
    assert calls == [4, 4]
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
    assert found.shape == (4, heads.n_heads)
    assert all(weight.requires_grad for weight in model.parameters())


class TokensFirst(torch.nn.Module):
    """Attention over the first axis, as long as a multiple of the rows: gates would go astray."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(97, 8)
        self.mix = torch.nn.Linear(8, 8)
        self.scores = torch.nn.Linear(8, 97)

    def forward(self, input_ids):
        x = self.embedding(input_ids).transpose(0, 1)
        length, rows, _ = x.shape
        q = x.transpose(0, 1).reshape(rows, length, 2, 4).transpose(1, 2)
        mixed = torch.nn.functional.scaled_dot_product_attention(q, q, q)
        mixed = mixed.transpose(1, 2).reshape(rows, length, 8).transpose(0, 1)
        return self.scores(x + self.mix(mixed)).transpose(0, 1)


def test_rows_that_cannot_be_told_apart_are_run_one_by_one():
    torch.manual_seed(0)
    model = TokensFirst().eval()
    data = batches("llama", 2, size=1)
    heads = network_heads(model, data[0])
    found = gate_gradients(model, heads, data, METRICS["loss"])
    expected = gate_gradients(model, heads, data, alone(METRICS["loss"]))
    np.testing.assert_allclose(found, expected, rtol=1e-4)
