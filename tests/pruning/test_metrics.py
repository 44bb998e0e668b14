"""What is measured of a model."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import haarbor as hb
from haarbor.errors import DataError
from haarbor.pruning import Metric, calibration_pass, masked_token_loss, model_batches
from haarbor.pruning._metrics import METRICS, logits_of, measure
from haarbor.pruning._model_batches import forward
from tests.pruning.builders import answer, assert_one_line
from tests.pruning.small_networks import batches, network


def test_tokens_are_classified_one_by_one():
    model, data = network("llama"), batches("llama", 1)
    with torch.no_grad():
        logits = forward(model, data[0]).logits
    labelled = replace(data[0], labels=logits.argmax(dim=-1))
    assert METRICS["accuracy"].total(model, labelled) == (28.0, 28.0)  # two texts of 14 tokens
    total, count = METRICS["classification-loss"].total(model, labelled)
    assert count == 28
    assert float(total.detach()) == pytest.approx(-float(logits.log_softmax(-1).amax(-1).sum()), rel=1e-5)
    found = calibration_pass(model, [labelled], parts={"gradients"}, metric="accuracy")
    assert np.isfinite(found.gradients).all()
    with pytest.raises(
        DataError, match=r"one label per answer, shape \(2, 14\); found labels of shape \(2,\)"
    ):
        METRICS["accuracy"].total(model, replace(data[0], labels=torch.zeros(2, dtype=torch.long)))


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
    assert first.value == pytest.approx(again.value, rel=1e-6)
    torch.testing.assert_close(seen[0], seen[-2][:2])  # the last two: both batches, as they come
    torch.testing.assert_close(seen[0], seen[-1][2:])
    hidden = (seen[0] == 96) & (data[0].inputs["input_ids"] != 96)
    assert hidden[:, :11].sum(1).min() >= 1
    assert not hidden[:, 11:].any()
    assert not hidden[0, :3].any()
    assert not torch.equal(seen[0], masked_again(watched, data, seen))


def masked_again(watched, data, seen):
    measure(watched, data, masked_token_loss(96, share=0.3, seed=1))
    return seen[-1][:2]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (torch.tensor([5, 0]), "labels must be from 0 to 4, the classes of the model; found 5"),
        (torch.tensor([0, -100]), "found -100"),
        (torch.tensor([0.0, 1.0]), "whole numbers, the class of each answer; found torch.float32"),
        (torch.tensor([True, False]), "found torch.bool"),
        (torch.tensor([[0], [1]]), "one label per answer"),
    ],
)
@pytest.mark.parametrize("metric", ["classification-loss", "accuracy"])
def test_labels_must_be_classes_of_the_model(labels, message, metric):
    images = torch.randn(2, 3, 16, 16)
    (batch,) = model_batches({"pixel_values": images, "labels": labels})
    with pytest.raises(DataError, match=message) as refused:
        measure(network("zoo-vit"), [batch], METRICS[metric])
    assert_one_line(refused)


def test_labels_that_fit_are_measured():
    (batch,) = model_batches(
        {"pixel_values": np.zeros((2, 3, 16, 16), np.float32), "labels": np.array([0, 4])}
    )
    assert 0 <= measure(network("zoo-vit"), [batch], METRICS["accuracy"]).value <= 1
