import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from haarbor.errors import DataError, PruningError, SettingError
from haarbor.pruning import (
    HeadResponses,
    NetworkHeads,
    backward_elimination,
    calibration_pass,
    compensate,
    compensated,
    head_responses,
    layer_moments,
    masked_token_loss,
    model_batches,
    network_heads,
    pruning_scores,
    score_controls,
)
from haarbor.pruning._compensation import fitted_projection
from haarbor.pruning._metrics import METRICS, logits_of
from haarbor.pruning._model_batches import forward
from tests.pruning.small_networks import MADE_SMALLER, MASKED_ONLY, Encoder, batches, network
from tests.pruning.test_scores import moments_of, site

# The package has a function of this name.
module = sys.modules["haarbor.pruning._head_responses"]

NETWORKS = [
    *MADE_SMALLER,
    *(name for name in MASKED_ONLY if name not in ("multihead", "clip")),
    "multihead-rows",
]


def relative_entropies(model, heads, moments, rows):
    """Change without each head, one head and one sample at a time."""
    found = np.zeros((len(rows), heads.n_heads))
    for head in range(heads.n_heads):
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
            found[number, head] = change.mean()
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in ("t5", "bart") else n for n in NETWORKS]
)
def test_responses_are_the_relative_entropies_of_removing_each_head(name, monkeypatch):
    model, data = network(name), batches(name, 2)
    heads = network_heads(model, data[0])
    moments = layer_moments(model, heads, data)
    rows = [row for batch in data for row in batch.rows()]
    found = head_responses(model, heads, moments, data)
    expected = relative_entropies(model, heads, moments, rows)
    assert found.values.shape == (heads.n_heads,)
    scale = expected.max()
    assert scale > 1e-7
    # The samples come in an order of their own.
    order = np.argsort(found.by_sample[:, 0]), np.argsort(expected[:, 0])
    np.testing.assert_allclose(found.by_sample[order[0]], expected[order[1]], rtol=2e-3, atol=2e-3 * scale)
    np.testing.assert_allclose(found.values, expected.mean(0), rtol=2e-3, atol=2e-3 * scale)
    # All rows from the start give the same; and so do heads in several turns.
    monkeypatch.setattr(module, "_is_same", lambda *_: False)
    monkeypatch.setattr(module, "_MOST_NUMBERS", 1)
    again = head_responses(model, heads, moments, data)
    np.testing.assert_allclose(again.values, found.values, rtol=2e-3, atol=2e-3 * scale)


@pytest.mark.parametrize("ridge", [0.01, 0.1, 2.0])
def test_stand_ins_give_the_fits_without_each_head(rng, ridge):
    x = rng.normal(size=(90, 8)) @ rng.normal(size=(8, 8)) + rng.normal(size=8)
    layer = moments_of(x, rng.normal(size=(5, 8)), np.ones(90))
    stand_in = module.stand_ins(layer, site(4, 2), ridge=ridge)
    for head in range(4):
        part = slice(2 * head, 2 * head + 2)
        expected = fitted_projection(layer, site(4, 2), np.array([head]), ridge=ridge)
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
    assert max(sizes) == heads.layers[0].n_heads + 1
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
    monkeypatch.setattr(module, "N_ANSWERS", 30)
    assert head_responses(model, heads, moments, data).n_answers == 42
    monkeypatch.setattr(module, "N_SAMPLES", 2)
    assert head_responses(model, heads, moments, data).by_sample.shape == (2, heads.n_heads)


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


def test_controls_take_the_halves_of_the_samples_that_were_probed():
    model, data = network("llama"), batches("llama", 6)
    found = calibration_pass(model, data[:4], parts={"responses"})
    names = ["response", "leftover-response"]
    for entry in score_controls(model, found, data[:4], data[4:], names, share=0.3, metric=METRICS["loss"]):
        assert np.isfinite([entry.within_layer, *entry.half_calibrations, entry.agreement]).all()
    one, two = (found.responses.over(slice(begin, None, 2)).values for begin in (0, 1))
    agreement = score_controls(
        model, found, data[:4], data[4:], ["response"], share=0.3, metric=METRICS["loss"]
    )[0].agreement
    assert agreement == pytest.approx(spearmanr(one, two)[0])


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


def test_hidden_tokens_are_hidden_from_the_calibration_too():
    model, data = network("bert"), batches("bert", 2)
    metric = masked_token_loss(2, share=0.5)
    found = calibration_pass(model, data, parts={"responses"}, metric=metric)
    shown = [metric.shown(batch) for batch in data]
    assert not torch.equal(shown[0].tokens, data[0].tokens)
    expected = layer_moments(model, found.heads, shown)
    np.testing.assert_allclose(found.moments[1].mean, expected[1].mean, atol=1e-12)
    responses = head_responses(model, found.heads, expected, shown)
    np.testing.assert_allclose(found.responses.values, responses.values, atol=1e-9)
    assert found.responses.n_answers == sum(int((batch.tokens == 2).sum()) for batch in shown)


def test_the_first_price_of_a_head_is_its_response_and_grows_with_the_others_gone(rng):
    x = rng.normal(size=(400, 8)) @ rng.normal(size=(8, 8))
    heads = NetworkHeads((site(4, 2),))
    moments = [moments_of(x, rng.normal(size=(5, 8)), np.ones(400))]
    responses = np.array([4.0, 1.0, 2.0, 3.0])
    found = backward_elimination(moments, heads, responses=responses)
    assert found.order[0] == 1
    assert found.increases[0] == pytest.approx(1.0)
    assert found.increases[1] > 2.0  # the least response of those that are left
    doubled = backward_elimination(moments, heads, responses=2 * responses)
    assert doubled.order.tolist() == found.order.tolist()
    np.testing.assert_allclose(doubled.increases, 2 * found.increases, rtol=1e-12)


def test_heads_in_twins_cost_more_when_the_twin_is_gone(rng):
    """Two equal heads of small response: one goes, the other is then as dear as what only it can give."""
    z = rng.normal(size=(500, 2))
    x = np.concatenate([z, z + 0.01 * rng.normal(size=(500, 2)), rng.normal(size=(500, 2))], axis=1)
    heads = NetworkHeads((site(3, 2),))
    moments = [moments_of(x, np.tile(np.eye(2), (1, 3)), np.ones(500))]
    found = backward_elimination(moments, heads, responses=np.array([0.1, 0.11, 0.5]))
    assert found.order.tolist() == [0, 2, 1]  # by their responses alone the twin would be second
    assert np.argsort([0.1, 0.11, 0.5]).tolist() == [0, 1, 2]


def test_silent_heads_go_first_whatever_was_measured(rng):
    x = rng.normal(size=(60, 4))
    x[:, :2] = 0.0
    heads = NetworkHeads((site(2, 2),))
    moments = [moments_of(x, rng.normal(size=(3, 4)), np.ones(60))]
    for responses in ([0.0, 1.0], [0.5, 1.0], [0.0, 0.0]):
        found = backward_elimination(moments, heads, responses=np.array(responses))
        assert found.order.tolist() == [0, 1]
        assert np.isfinite(found.increases).all()


@pytest.mark.parametrize("responses", [[1.0], [1.0, -1.0], [1.0, np.nan]])
def test_responses_that_do_not_fit_are_refused(rng, responses):
    heads = NetworkHeads((site(2, 2),))
    moments = [moments_of(rng.normal(size=(60, 4)), rng.normal(size=(3, 4)), np.ones(60))]
    with pytest.raises(DataError, match="responses must be one finite number per head"):
        backward_elimination(moments, heads, responses=np.array(responses))


def test_scores_by_responses_need_a_pass_that_has_them():
    model, data = network("llama"), batches("llama", 2)
    with pytest.raises(PruningError, match="needs the responses of the heads"):
        pruning_scores(calibration_pass(model, data), ["response"])
    with pytest.raises(SettingError, match="parts must be among attention, gradients, responses"):
        calibration_pass(model, data, parts={"answers"})
    found = calibration_pass(model, data, parts={"responses"})
    scores = pruning_scores(found, ["response", "leftover-response"])
    np.testing.assert_allclose(scores["response"], found.responses.values, atol=0)
    assert sorted(scores["leftover-response"]) == list(range(found.heads.n_heads))
    # The cheapest head by its own response is the first to go.
    assert scores["leftover-response"][np.argmin(scores["response"])] == 0
