import numpy as np
import pytest

pytest.importorskip("transformers")

import torch

from haarbor.collapse import BOUNDED, network_bound, rank_collapse
from tests.pruning.small_networks import batches, network


def largest_column(matrix):
    return max(sum(abs(float(row[column])) for row in matrix) for column in range(matrix.shape[1]))


def by_hand(model):
    """Logarithms of 4 beta H of each layer and its limit, from the weights as the architecture names them."""
    steps, limits = [], []
    for layer in model.base_model.encoder.layer:
        attention = layer.attention.self
        n_heads, width = attention.num_attention_heads, attention.attention_head_size
        maps = {
            name: getattr(attention, name).weight.detach().double().numpy().T
            for name in ("query", "key", "value")
        }
        output = layer.attention.output.dense.weight.detach().double().numpy().T
        scores, columns, rows = [], [], []
        for head in range(n_heads):
            own = slice(head * width, (head + 1) * width)
            scores.append(largest_column(maps["query"][:, own] @ maps["key"][:, own].T) / np.sqrt(width))
            moved = maps["value"][:, own] @ output[own]
            columns.append(largest_column(moved))
            rows.append(largest_column(moved.T))
        steps.append(np.log10(4 * n_heads * max(scores) * np.sqrt(max(columns) * max(rows))))
        limits.append(np.log10(1.256 / (2 * max(scores))) / 2)
    return steps, limits


@pytest.fixture(scope="module")
def bert():
    model = network("bert").double()
    for name, weight in model.named_parameters():
        # At their own size the scores are too large for the theorem wherever it begins.
        if ".query." in name or ".key." in name:
            weight.data.mul_(0.3)
    return model, batches("bert")


def test_it_is_made_of_the_weights_of_the_heads(bert):
    model, given = bert
    bound = network_bound(model, given[0])
    assert bound.reason == ""
    steps, limits = by_hand(model)
    np.testing.assert_allclose(bound.steps, steps, rtol=1e-5)
    np.testing.assert_allclose(bound.limits, limits, rtol=1e-5)


def test_the_attention_of_an_encoder_keeps_it(bert):
    model, given = bert
    text = {"input_ids": given[0].inputs["input_ids"][:1]}
    measured = rank_collapse(model, text, variants=[BOUNDED])
    bound = network_bound(model, text).relative(measured)
    least = measured.middle("composite_least", BOUNDED)
    # Below the floor what was measured is rounding.
    there = np.isfinite(bound) & (bound > np.log10(measured.floor))
    assert there.sum() >= 2
    assert (least[there] <= 10 ** bound[there] * (1 + 1e-9)).all()
    assert bound[there][-1] < bound[there][0]


@pytest.mark.parametrize(
    ("name", "reason"), [("gpt2", "is masked"), ("zoo-txl", "is masked"), ("zoo-vit", "")]
)
def test_masked_attention_has_none(name, reason):
    bound = network_bound(network(name), batches(name)[0])
    assert reason in bound.reason
    assert bool(bound.reason) == bool(reason)
    assert bound.steps.size == (0 if reason else 3)


def test_positions_in_the_scores_are_seen():
    from haarbor.collapse._network_bound import _turned
    from haarbor.collapse._probed_maps import ProbedMaps

    table = np.arange(12.0).reshape(3, 2, 2)
    still = ProbedMaps(
        value=np.zeros((2, 2, 1)), value_bias=np.zeros((2, 1)), query=(table, table), key=(table, table)
    )
    turned = ProbedMaps(
        value=np.zeros((2, 2, 1)), value_bias=np.zeros((2, 1)), query=(table, table), key=(table, -table)
    )
    assert not _turned(still)
    assert _turned(turned)


def test_nothing_is_left_behind(bert):
    model, given = bert
    before = {name: torch.clone(value) for name, value in model.state_dict().items()}
    network_bound(model, given[0])
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert not any("forward" in module.__dict__ for module in model.modules())
