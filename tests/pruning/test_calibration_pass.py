"""What is gathered in one pass over the calibration data."""

import numpy as np
import pytest
import torch

from haarbor.errors import PruningError, SettingError
from haarbor.pruning import calibration_pass, head_responses, layer_moments, masked_token_loss
from haarbor.pruning._calibration_pass import with_responses
from haarbor.pruning._metrics import METRICS, Metric
from tests.assertions import assert_close
from tests.pruning.small_networks import batches, network


@pytest.mark.parametrize("name", ["llama", "bert", "zoo-vit", "multihead", "albert"])
def test_gradients_are_derivatives_by_the_gates(name):
    model, data = network(name), batches(name, 2, size=1)
    metric = METRICS["classification-loss" if name == "zoo-vit" else "loss"]
    found = calibration_pass(model, data, parts={"gradients"}, metric=metric)
    from haarbor.pruning import gated_heads

    model = model.double()
    # Models of transformers take their softmax in float32 whatever they are cast to.
    step = 1e-3 if name in ("llama", "bert", "albert") else 1e-6
    for layer, head in ((0, 1), (1, 3)):
        values = []
        for sign in (1, -1):
            gates = [torch.ones(4, dtype=torch.float64) for _ in found.heads.layers]
            gates[layer][head] += sign * step
            with torch.no_grad(), gated_heads(model, found.heads, gates):
                total, count = metric.total(model, data[1])
            values.append(float(total) / count)
        expected = (values[0] - values[1]) / (2 * step)
        assert found.gradients[1, layer * 4 + head] == pytest.approx(expected, rel=2e-2, abs=2e-4)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_the_accuracy_takes_the_gradient_of_the_loss():
    model, data = network("zoo-vit"), batches("zoo-vit", 3)
    by_accuracy, by_loss = (
        calibration_pass(model, data, parts={"gradients"}, metric=name).gradients
        for name in ("accuracy", "classification-loss")
    )
    np.testing.assert_array_equal(by_accuracy, by_loss)
    assert np.abs(by_loss).max() > 0
    assert METRICS["accuracy"].total(model, data[0])[0] in (0.0, 1.0, 2.0)  # and counts what is right


def test_a_metric_without_a_gradient_is_refused_for_scores_that_need_one():
    model, data = network("zoo-vit"), batches("zoo-vit", 1)
    counted = Metric("right", METRICS["accuracy"].function)
    with pytest.raises(PruningError, match="the metric 'right' has no gradient"):
        calibration_pass(model, data, parts={"gradients"}, metric=counted)


def test_a_pass_over_single_samples_is_a_pass_over_batches():
    model = network("llama")
    joint = calibration_pass(model, batches("llama", 2, size=3))
    apart = calibration_pass(model, batches("llama", 2, size=3), parts={"attention", "gradients"})
    for one, two in zip(joint.moments, apart.moments, strict=True):
        assert_close(one.second, two.second, np.float32)
    assert joint.n_samples == apart.n_samples == 6
    assert apart.gradients.shape == (2, 12)
    assert apart.attention.n_samples == 6


def test_tree_scores_are_refused_where_layers_attend_over_different_tokens():
    with pytest.raises(PruningError, match="same queries and keys"):
        calibration_pass(network("t5"), batches("t5"), parts={"attention"})
    with pytest.raises(SettingError, match="parts must be"):
        calibration_pass(network("t5"), batches("t5"), parts={"magic"})


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


def test_heads_and_layers_are_probed_in_the_same_forward_passes():
    model, data = network("llama"), batches("llama", 6)
    heads = calibration_pass(model, data).heads
    n_passes = {}
    found = {}
    for parts in (set(), {"responses"}, {"layer responses"}, {"responses", "layer responses"}):
        passes = []
        handle = model.register_forward_pre_hook(lambda *_, passes=passes: passes.append(1))
        name = ", ".join(sorted(parts))
        found[name] = calibration_pass(model, data, parts=parts, heads=heads, n_answers=100)
        handle.remove()
        n_passes[name] = len(passes) - n_passes.get("", 0)
    # Of 8 samples: its answer, and one for each of three layers.
    assert n_passes["responses"] == n_passes["layer responses, responses"] == 8 * 4
    both = found["layer responses, responses"]
    one, two = both.responses, found["responses"].responses
    np.testing.assert_allclose(one.by_sample, two.by_sample, rtol=1e-3, atol=1e-9)
    np.testing.assert_array_equal(one.counts, two.counts)
    alone = found["layer responses"].layer_responses
    np.testing.assert_allclose(both.layer_responses.by_sample, alone.by_sample, rtol=1e-3, atol=1e-9)


def test_layers_are_probed_on_more_samples_than_heads_where_these_are_enough():
    model, data = network("llama"), batches("llama", 50)
    found = calibration_pass(model, data, parts={"responses", "layer responses"})
    apart = [calibration_pass(model, data, parts={part}) for part in ("responses", "layer responses")]
    # 512 and 1024 answers, of 14 to a text.
    assert found.responses.counts.size == 37
    assert found.layer_responses.counts.size == 64
    np.testing.assert_allclose(found.responses.values, apart[0].responses.values, rtol=1e-3)
    np.testing.assert_allclose(found.layer_responses.values, apart[1].layer_responses.values, rtol=1e-3)


def test_a_pass_gets_its_responses_later():
    model, data = network("llama"), batches("llama", 2)
    at_once = calibration_pass(model, data, parts={"gradients", "responses"})
    plain = calibration_pass(model, data, parts={"gradients"})
    later = with_responses(model, plain, {"responses"})
    np.testing.assert_array_equal(later.responses.by_sample, at_once.responses.by_sample)
    assert later.gradients is plain.gradients
    assert with_responses(model, later, {"responses"}) is later
    assert "responses" not in plain.parts
