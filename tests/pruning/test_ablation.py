"""How much worse a network is without some of its heads."""

import numpy as np
import pytest
import torch

import haarbor as hb
from haarbor.errors import DataError, SettingError
from haarbor.pruning import head_damage, layer_moments, network_heads, removed_heads
from haarbor.pruning._ablation import spearman_brown
from haarbor.pruning._metrics import METRICS, measure
from tests.pruning.builders import answer, made_curves
from tests.pruning.small_networks import batches, network


def test_ablate_measures_with_and_without_the_heads():
    model = network("llama")
    found = hb.ablate(model, [(0, 0), (2, 1)], batches=batches("llama", 3))
    heads = network_heads(model, batches("llama")[0])
    with removed_heads(model, heads, [(0, 0), (2, 1)]):
        without = measure(model, batches("llama", 3), METRICS["loss"]).value
    whole = measure(model, batches("llama", 3), METRICS["loss"]).value
    assert found.value == pytest.approx(without, rel=1e-6)
    assert found.damage == pytest.approx(without - whole, rel=1e-4)
    assert found.perplexity == pytest.approx(np.exp(without), rel=1e-6)
    each = found.measurement.each - found.baseline.each
    assert found.standard_error == pytest.approx(each.std(ddof=1) / 3**0.5)
    assert repr(found).startswith("Ablation(2 of 12 heads: loss ")


def test_lost_accuracy_is_damage():
    model, data = network("vit"), batches("vit", 2, size=8)
    found = hb.ablate(model, [(0, 0), (1, 1), (2, 2)], batches=data, metric="accuracy")
    assert found.damage == pytest.approx(found.baseline.value - found.value)
    right = sum((answer(model, b).argmax(-1) == b.labels).sum().item() for b in data)
    assert found.baseline.value == pytest.approx(right / 16)


def test_single_head_damages_and_their_reliability():
    model, data = network("llama"), batches("llama", 4)
    found = head_damage(model, batches=data)
    assert found.damage.shape == (12,)
    one = hb.ablate(model, [7], batches=data)
    assert found.damage[7] == pytest.approx(one.damage, abs=1e-7)
    even = hb.ablate(model, [7], batches=data[::2])
    assert found.halves[0, 7] == pytest.approx(even.damage, abs=1e-7)
    r = np.corrcoef(found.halves)[0, 1]
    assert found.reliability == pytest.approx(2 * r / (1 + r))


def test_mean_replacement_takes_the_means_of_the_calibration_tokens():
    model, data = network("bert"), batches("bert", 2)
    heads = network_heads(model, data[0])
    fitted = batches("bert", 2, seed=9)
    seen = []
    module = model.get_submodule(heads.layers[1].projection)
    handle = module.register_forward_pre_hook(lambda _m, args: seen.append(args[0][:, :11].reshape(-1, 32)))
    for batch in fitted:
        answer(model, batch)
    handle.remove()
    expected = torch.cat(seen).double().mean(0).numpy()
    moments = layer_moments(model, heads, fitted)
    np.testing.assert_allclose(moments[1].mean, expected, atol=1e-6)
    found = hb.ablate(model, [(1, 0)], batches=data, replacement="mean", calibration=fitted)
    with removed_heads(model, heads, [(1, 0)], means=[layer.mean for layer in moments]):
        assert found.value == measure(model, data, METRICS["loss"]).value


def test_calibration_and_evaluation_must_not_overlap():
    model = network("llama")
    data = batches("llama", 3)
    with pytest.raises(DataError, match="sample 0 of the evaluation is among"):
        hb.ablate(model, [0], batches=data, replacement="mean", calibration=data[:1])
    with pytest.raises(DataError, match="sample 4 of the evaluation is among"):
        hb.ablate(model, [0], batches=data, calibration=data[2])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "bleu"}, SettingError, "metric must be one of"),
        ({"replacement": "median"}, SettingError, "replacement must be 'zero' or 'mean'"),
        ({"replacement": "mean"}, SettingError, "needs calibration batches"),
        ({"metric": "accuracy"}, DataError, "needs labels"),
        ({"batches": []}, DataError, "at least one batch"),
        ({"batches": {"input_ids": torch.ones(2, 4), "labels": torch.ones(3)}}, DataError, "one batch axis"),
    ],
)
def test_ablate_refuses_what_it_cannot_do(options, error, message):
    with pytest.raises(error, match=message):
        hb.ablate(network("llama"), [0], **{"batches": batches("llama", 2), **options})


def test_reliability_needs_two_batches():
    with pytest.raises(SettingError, match="at least two batches"):
        head_damage(network("llama"), batches=batches("llama"))


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ([1.0, 2.0, 3.0], 1.0),  # r = 1
        ([2.0, 1.0, 2.0], 0.0),  # r = 0
        ([3.0, 1.0, 2.0], -2.0),  # r = -1/2
        ([3.0, 2.0, 1.0], np.nan),  # r = -1: 2 r / (1 + r) has no value
        ([0.1, 0.1, 0.1], np.nan),  # no spread, though the deviation of these is not zero
    ],
)
def test_reliability_by_hand(second, expected):
    found = spearman_brown(np.array([1.0, 2.0, 3.0]), np.array(second))
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_reliability_of_two_numbers_is_not_defined():
    """Two points lie on a line: the halves would agree or contradict each other by chance."""
    assert np.isnan(spearman_brown(np.array([1.0, 2.0]), np.array([1.0, 2.0])))
    opposed = made_curves({"norm": np.array([[[0.0, 1.0]]]), "random": np.array([[[1.0, 0.0]]])})
    assert np.isnan(opposed.reliability)
