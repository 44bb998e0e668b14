"""Batches run together, and the same figures as one at a time."""

import numpy as np
import pytest
import torch

from haarbor.pruning import layer_moments, masked_token_loss, model_batches, network_heads
from haarbor.pruning._joined_batches import joined_batches
from haarbor.pruning._metrics import METRICS, Metric, measure
from tests.pruning.small_networks import batches, network

METRIC_OF = {"zoo-vit": METRICS["classification-loss"], "bert": masked_token_loss(2, share=0.3)}


def alone(metric):
    """The same metric, which cannot be run on several batches together."""
    return Metric(metric.name, metric.function, shown=metric.shown)


@pytest.mark.parametrize("name", ["llama", "bert", "zoo-vit", "zoo-txl", "multihead-sequence-first"])
def test_what_is_measured_together_is_what_is_measured_one_by_one(name):
    model, data = network(name), batches(name, 5, size=1)
    metric = METRIC_OF.get(name, METRICS["loss"])
    together, apart = measure(model, data, metric), measure(model, data, alone(metric))
    assert len(joined_batches(model, data)) == 1
    np.testing.assert_allclose(together.totals, apart.totals, rtol=1e-5)
    np.testing.assert_array_equal(together.counts, apart.counts)


def test_only_equal_shapes_are_joined_and_nothing_is_padded():
    model = network("llama")
    texts = [torch.randint(3, 97, (1, length)) for length in (9, 14, 9, 5, 14, 9)]
    data = model_batches([{"input_ids": text} for text in texts])
    groups = joined_batches(model, data)
    assert [group.places for group in groups] == [(0, 2, 5), (1, 4), (3,)]
    assert [tuple(group.batch.tokens.shape) for group in groups] == [(3, 9), (2, 14), (1, 5)]
    np.testing.assert_allclose(
        measure(model, data, METRICS["loss"]).totals,
        measure(model, data, alone(METRICS["loss"])).totals,
        rtol=1e-5,
    )


def test_padding_does_not_leak_into_other_rows():
    model = network("bert")
    ids = torch.randint(3, 97, (3, 1, 14))
    masks = [torch.tensor([[1] * n + [0] * (14 - n)]) for n in (14, 6, 10)]
    data = model_batches(
        [{"input_ids": text, "attention_mask": mask} for text, mask in zip(ids, masks, strict=True)]
    )
    assert len(joined_batches(model, data)) == 1
    heads = network_heads(model, data[0])
    whole = layer_moments(model, heads, data)
    each = [layer_moments(model, heads, [batch]) for batch in data]
    for number, moment in enumerate(whole):
        assert moment.n_tokens == 30
        expected = sum(one[number].second * one[number].n_tokens for one in each) / 30
        np.testing.assert_allclose(moment.second, expected, rtol=1e-4, atol=1e-6)


class Standardised(torch.nn.Module):
    """Its answer to a row depends on the other rows."""

    def __init__(self):
        super().__init__()
        self.scores = torch.nn.Linear(4, 3)

    def forward(self, x):
        return self.scores(x - x.mean(dim=0, keepdim=True))


def test_networks_whose_rows_depend_on_each_other_are_run_one_by_one():
    model = Standardised()
    data = model_batches([{"": torch.randn(2, 4), "labels": torch.tensor([0, 2])} for _ in range(3)])
    metric = METRICS["classification-loss"]
    assert [group.places for group in joined_batches(model, data)] == [(0,), (1,), (2,)]
    np.testing.assert_array_equal(
        measure(model, data, metric).totals, measure(model, data, alone(metric)).totals
    )


def test_batches_are_never_cut_and_rows_and_tokens_are_limited():
    model = network("llama")
    sizes = [len(group.batch) for group in joined_batches(model, batches("llama", 20, size=3))]
    assert sizes == [30, 30]
    few = joined_batches(model, batches("llama", 5, size=3), most_tokens=14 * 7)
    assert [len(group.batch) for group in few] == [6, 6, 3]
    assert [place for group in few for place, _ in group.parts()] == [0, 1, 2, 3, 4]
