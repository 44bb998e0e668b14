import numpy as np
import pytest
import torch

import haarbor as hb
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.pruning import (
    Metric,
    gated_heads,
    head_damage,
    layer_moments,
    masked_token_loss,
    model_batches,
    network_heads,
    removed_heads,
    require_disjoint,
)
from haarbor.pruning._metrics import METRICS, logits_of, measure
from haarbor.pruning._model_batches import forward
from tests.pruning.small_networks import MADE_SMALLER, MASKED_ONLY, batches, network

EVERY = [*MADE_SMALLER, *MASKED_ONLY, "multihead-sequence-first"]


def answer(model, batch):
    with torch.no_grad():
        output = forward(model, batch)
    hidden = getattr(output, "last_hidden_state", None)
    return hidden if hidden is not None else logits_of(output)


def assert_same(found, expected):
    """Equal to a hundred-thousandth of the largest output."""
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 * max(1.0, expected.abs().max().item()))


def without_columns(model, heads, removed):
    """The witness: the same heads removed by zeroing the columns of the projection's weight."""
    for layer, head in removed:
        found_layer = heads.layers[layer]
        weight = model.get_submodule(found_layer.projection).weight
        with torch.no_grad():
            if "Conv1D" in type(model.get_submodule(found_layer.projection)).__name__:
                weight[found_layer.channels(head)] = 0.0
            else:
                weight[:, found_layer.channels(head)] = 0.0


@pytest.mark.parametrize("name", [name for name in EVERY if name != "albert"])
def test_a_removed_head_is_one_whose_columns_of_the_projection_are_zero(name):
    model, batch = network(name), batches(name)[0]
    heads = network_heads(model, batch)
    removed = [(0, 1), (1, 0), (1, 3)]
    whole = answer(model, batch)
    with removed_heads(model, heads, removed):
        found = answer(model, batch)
    assert not torch.allclose(found, whole, atol=1e-4)
    assert_same(answer(model, batch), whole)
    without_columns(model, heads, removed)
    assert_same(found, answer(model, batch))


def test_a_head_of_one_layer_goes_where_layers_share_weights():
    model, batch = network("albert"), batches("albert")[0]
    heads = network_heads(model, batch)
    with removed_heads(model, heads, [(1, 2)]):
        middle = answer(model, batch)
    with removed_heads(model, heads, [(0, 2), (1, 2), (2, 2)]):
        everywhere = answer(model, batch)
    whole = answer(model, batch)
    without_columns(model, heads, [(0, 2)])
    assert_same(everywhere, answer(model, batch))
    assert not torch.allclose(middle, everywhere, atol=1e-4)
    assert not torch.allclose(middle, whole, atol=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama", "multihead", "zoo-vit"])
def test_mean_replacement_is_the_removed_part_of_the_mean_in_the_output(name):
    model, batch = network(name), batches(name)[0]
    heads = network_heads(model, batch)
    means = [np.linspace(-1, 1, found_layer.width) for found_layer in heads.layers]
    with removed_heads(model, heads, [(2 if len(heads) > 2 else 1, 1)], means=means):
        found = answer(model, batch)
    found_layer = heads.layers[-1]
    projection = model.get_submodule(found_layer.projection)
    weight = projection.weight.T if "Conv1D" in type(projection).__name__ else projection.weight
    part = found_layer.channels(1)
    with torch.no_grad():
        constant = weight[:, part] @ torch.as_tensor(means[-1][part]).float()
        if projection.bias is None:
            projection.bias = torch.nn.Parameter(torch.zeros(weight.shape[0]))
        projection.bias += constant
        weight[:, part] = 0.0
    assert_same(found, answer(model, batch))


@pytest.mark.parametrize("name", ["llama", "multihead"])
def test_hooks_are_gone_after_an_exception(name):
    model, batch = network(name), batches(name)[0]
    heads = network_heads(model, batch)
    whole = answer(model, batch)
    with pytest.raises(KeyboardInterrupt), removed_heads(model, heads, [(0, 0)]):
        raise KeyboardInterrupt
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    torch.testing.assert_close(answer(model, batch), whole, rtol=0, atol=0)


def test_gates_of_one_change_nothing_and_of_zero_remove():
    model, batch = network("llama"), batches("llama")[0]
    heads = network_heads(model, batch)
    gates = [torch.ones(4) for _ in heads.layers]
    with gated_heads(model, heads, gates):
        torch.testing.assert_close(answer(model, batch), answer(network("llama"), batch), rtol=0, atol=0)
    gates[1][2] = 0.0
    with gated_heads(model, heads, gates):
        gated = answer(model, batch)
    with removed_heads(model, heads, [(1, 2)]):
        torch.testing.assert_close(gated, answer(model, batch), rtol=0, atol=0)


def test_gates_and_means_must_fit_the_layers():
    model, batch = network("llama"), batches("llama")[0]
    heads = network_heads(model, batch)
    with (
        pytest.raises(ShapeError, match="one tensor of gates per layer, 3; found 1"),
        gated_heads(model, heads, [torch.ones(4)]),
    ):
        pass
    with (
        pytest.raises(ShapeError, match="one mean per layer"),
        removed_heads(model, heads, [0], means=[np.ones(32)]),
    ):
        pass
    with (
        pytest.raises(ShapeError, match=r"shape \(32,\)"),
        removed_heads(model, heads, [0], means=[np.ones(31)] * 3),
    ):
        pass


def test_loss_is_the_mean_over_predicted_tokens():
    model, batch = network("gpt2"), batches("gpt2")[0]
    logits = answer(model, batch).double()
    ids = batch.inputs["input_ids"]
    logs = torch.log_softmax(logits, dim=-1)
    expected = -np.mean([logs[row, t, ids[row, t + 1]].item() for row in range(2) for t in range(13)])
    assert measure(model, [batch], METRICS["loss"]).value == pytest.approx(expected, rel=1e-5)


def test_padding_is_not_predicted():
    model = network("bert")
    full = batches("bert")[0]
    cut = {name: value[:, :11] for name, value in full.inputs.items()}
    loss = measure(model, [full], METRICS["loss"]).value
    assert loss == pytest.approx(measure(model, model_batches(cut), METRICS["loss"]).value, rel=1e-5)


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


def test_any_function_is_a_metric():
    def largest(model, batch):
        return logits_of(forward(model, batch)).max()

    model = network("gpt2")
    found = hb.ablate(model, [(0, 0)], batches=batches("gpt2", 2), metric=largest)
    assert found.metric == "largest"
    assert found.baseline.value == pytest.approx(
        np.mean([answer(model, batch).max().item() for batch in batches("gpt2", 2)])
    )
    with pytest.raises(DataError, match="must give one number"):
        hb.ablate(model, [0], batches=batches("gpt2"), metric=Metric("all", lambda m, b: torch.ones(3)))


def test_hidden_tokens_are_the_same_every_time_and_never_special():
    model = network("bert")
    seen = []

    class Watched(torch.nn.Module):
        def forward(self, input_ids, attention_mask):
            seen.append(input_ids)
            return model(input_ids=input_ids, attention_mask=attention_mask)

    watched, data = Watched(), batches("bert", 2)
    kept = data[0].inputs["input_ids"][0, :3].tolist()
    metric = masked_token_loss(96, share=0.3, kept=kept)
    first = measure(watched, data, metric)
    again = measure(watched, data[::-1], metric)
    assert first.value == again.value
    torch.testing.assert_close(seen[0], seen[3])
    hidden = (seen[0] == 96) & (data[0].inputs["input_ids"] != 96)
    assert hidden[:, :11].sum(1).min() >= 1
    assert not hidden[:, 11:].any()
    assert not hidden[0, :3].any()
    assert not torch.equal(seen[0], masked_again(watched, data, seen))


def masked_again(watched, data, seen):
    measure(watched, data, masked_token_loss(96, share=0.3, seed=1))
    return seen[-2]


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


def test_shifted_windows_of_one_text_overlap(rng):
    text = torch.as_tensor(rng.integers(0, 90, 200))
    one, two, apart = text[None, :100], text[None, 20:120], text[None, 100:]
    require_disjoint(model_batches(one), model_batches(apart))
    with pytest.raises(DataError, match="has 62 % of its text in common"):
        require_disjoint(model_batches(one), model_batches(two))


def test_a_quotation_is_no_overlap(rng):
    one, two = torch.as_tensor(rng.integers(0, 90, (2, 256)))
    two[100:160] = one[20:80]
    require_disjoint(model_batches(one[None]), model_batches(two[None]))


def test_padding_in_common_is_no_overlap():
    ids = torch.zeros(2, 120, dtype=torch.long)
    ids[0, :9], ids[1, :9] = torch.arange(9), torch.arange(20, 29)
    require_disjoint(model_batches(ids[:1]), model_batches(ids[1:]))


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
