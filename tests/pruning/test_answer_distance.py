"""How far answers are from those before, against relative entropies written out in float64."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from haarbor.errors import DataError, SettingError
from haarbor.pruning import Metric, answer_distance, masked_token_loss, model_batches, removed_heads
from haarbor.pruning._metrics import METRICS, logits_of, measure
from haarbor.pruning._model_batches import forward
from tests.pruning.builders import LATE_VECTORS, LOSS, answer, linear_heads, measurable
from tests.pruning.small_networks import batches, network


def entropies(before, after):
    """Relative entropy of each answer from before to after."""
    p, q = (torch.log_softmax(scores.double(), dim=-1) for scores in (before, after))
    return (p.exp() * (p - q)).sum(dim=-1)


class Scores(torch.nn.Module):
    """Answers with what it is given, times a number."""

    def __init__(self):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.factor * x


def test_an_answer_by_hand():
    """Odds of 3 to 1 that become even: 3/4 log(3/2) + 1/4 log(1/2)."""
    model = Scores()
    data = model_batches({"x": torch.tensor([[np.log(3.0), 0.0]], dtype=torch.float32)})
    distance = answer_distance(model, data, METRICS["classification-loss"])
    with torch.no_grad():
        model.factor.zero_()
    expected = 0.75 * np.log(1.5) + 0.25 * np.log(0.5)
    assert measure(model, data, distance).value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["gpt2", "bert", "zoo-vit", "multihead-sequence-first"])
@pytest.mark.parametrize("together", [True, False])
def test_it_is_the_relative_entropy_of_all_answers_that_count(name, together):
    model, heads, _, data, loss = measurable(name, 5, size=2)
    distance = answer_distance(model, data, loss)
    if not together:
        distance = Metric("alone", distance.function, shown=distance.shown)
    before = [answer(model, batch) for batch in data]
    with removed_heads(model, heads, [0, 3, 5]):
        found = measure(model, data, distance)
        after = [answer(model, batch) for batch in data]
    for number, batch in enumerate(data):
        each = entropies(before[number], after[number])
        valid = batch.valid
        each = each.flatten() if valid is None else each[valid]
        assert found.counts[number] == each.numel() == {"zoo-vit": 2, "bert": 22}.get(name, 28)
        assert found.totals[number] == pytest.approx(float(each.sum()), rel=1e-4)
    assert found.value > 1e-4


@pytest.mark.parametrize("name", ["gpt2", "bert", "zoo-vit"])
def test_a_network_that_is_as_it_was_has_gone_nowhere(name):
    model, _, _, data, loss = measurable(name, 3)
    distance = answer_distance(model, data, loss)
    found = measure(model, data, distance)
    assert np.abs(found.totals).max() < 1e-9
    assert distance.shown is loss.shown
    assert not distance.higher_is_better


def test_the_answers_are_those_of_the_network_as_it_was_when_it_was_asked():
    model, heads, _, data, _ = measurable("gpt2", 2)
    with removed_heads(model, heads, [1, 7]):
        distance = answer_distance(model, data, LOSS)
        assert measure(model, data, distance).value < 1e-9
    assert measure(model, data, distance).value > 1e-5


def test_labels_do_not_enter():
    model, heads, _, data, loss = measurable("zoo-vit", 3)
    found = []
    for labels in (torch.tensor([0]), torch.tensor([1])):
        labelled = [replace(batch, labels=labels) for batch in data]
        distance = answer_distance(model, labelled, loss)
        with removed_heads(model, heads, [0, 1]):
            found.append(measure(model, labelled, distance).totals)
    np.testing.assert_array_equal(*found)


def test_only_answers_that_the_metric_counts_are_compared():
    model, heads, _, data, _ = measurable("bert", 3, size=2)
    metric = masked_token_loss(96, share=0.4)
    distance = answer_distance(model, data, metric)
    shown = [metric.shown(batch) for batch in data]
    before = [answer(model, batch) for batch in shown]
    with removed_heads(model, heads, [0, 3, 5]):
        found = measure(model, data, distance)
        after = [answer(model, batch) for batch in shown]
    for number, batch in enumerate(shown):
        each = entropies(before[number], after[number])[batch.counted]
        assert found.counts[number] == each.numel() == 8
        assert found.totals[number] == pytest.approx(float(each.sum()), rel=1e-4)


@pytest.mark.parametrize(
    ("n_answers", "counts"),
    [
        (10**6, [14, 14, 9, 14]),
        (44, [11, 11, 9, 11]),
        (8, [2, 2, 2, 2]),
        (4, [1, 1, 1, 1]),
        # Of every batch at least one, or it could not be measured on.
        (1, [1, 1, 1, 1]),
        (11, [2, 2, 2, 2]),
    ],
)
def test_so_many_answers_are_compared_at_most(n_answers, counts):
    model, heads, _, data, _ = measurable("gpt2", 4)
    data = [*data[:2], *model_batches({"input_ids": data[2].inputs["input_ids"][:, :9]}), data[3]]
    distance = answer_distance(model, data, LOSS, n_answers=n_answers)
    with removed_heads(model, heads, [0, 3, 5]):
        found = measure(model, data, distance)
    assert found.counts.tolist() == counts


def test_the_answers_that_are_compared_are_spread_over_a_batch():
    """Of 22 answers that are no padding, two texts of 11, every 22 / 4 th from the first on."""
    model, heads, _, data, _ = measurable("bert", 1, size=2)
    distance = answer_distance(model, data, LOSS, n_answers=4)
    before = answer(model, data[0])
    with removed_heads(model, heads, [0, 3, 5]):
        found = measure(model, data, distance)
        each = entropies(before, answer(model, data[0]))[data[0].valid]
    assert found.counts.tolist() == [4]
    assert found.totals[0] == pytest.approx(float(each[[0, 5, 11, 16]].sum()), rel=1e-4)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_it_is_never_below_zero_and_does_not_depend_on_what_is_added_to_all_scores(seed):
    generator = torch.Generator().manual_seed(seed)
    given, other = torch.randn(2, 5, 7, generator=generator)
    model, batch = Scores(), model_batches({"x": given})
    distance = answer_distance(model, batch, METRICS["classification-loss"])
    total, count = distance.of_answer(other, batch[0])
    moved, _ = distance.of_answer(other + torch.randn(5, 1, generator=generator), batch[0])
    assert (float(total) > 0, count) == (True, 5)
    assert float(moved) == pytest.approx(float(total), rel=1e-4)
    assert float(total) == pytest.approx(float(entropies(given, other).sum()), rel=1e-4)


def test_its_gradient_is_that_of_the_relative_entropy():
    model, _, _, data, _ = measurable("gpt2", 2)
    distance = answer_distance(model, data, LOSS)
    before = logits_of(forward(model, data[1])).detach()
    changed = (before * 0.7).requires_grad_()
    for of_answer in (distance.of_answer, distance.graded_of_answer):
        (found,) = torch.autograd.grad(of_answer(changed, data[1])[0], changed)
        # The change of answers by their scores is the difference of the two distributions.
        torch.testing.assert_close(
            found, (changed.softmax(-1) - before.softmax(-1)).detach(), rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("name", ["vectors", "single"])
def test_vectors_have_no_entropy(name):
    if name == "vectors":
        model, data, metric = network(name), batches(name, 2), LATE_VECTORS
    else:
        model, _, _, metric = linear_heads([[1.0, 3.0]], np.ones((2, 2)))
        data = model_batches({"x": np.ones((2, 2)), "labels": torch.tensor([0, 1])})
    assert answer_distance(model, data, metric) is None


@pytest.mark.parametrize("after", [[0.0, 0.0, -torch.inf], [0.0, 0.0, 0.0], [0.0, 0.0, -300.0]])
def test_a_class_that_cannot_be_answered_adds_nothing(after):
    model, batch = Scores(), model_batches({"x": torch.tensor([[0.0, 1.0, -torch.inf]])})
    distance = answer_distance(model, batch, METRICS["classification-loss"])
    before = torch.tensor([0.0, 1.0, -300.0], dtype=torch.float64)
    expected = float(entropies(before, torch.tensor(after).clamp_min(-300.0)))
    found, _ = distance.of_answer(torch.tensor([after]), batch[0])
    assert float(found) == pytest.approx(expected, rel=1e-4)


def test_other_batches_than_those_it_knows_are_refused():
    model, _, _, data, _ = measurable("gpt2", 2)
    distance = answer_distance(model, data[:1], LOSS)
    with pytest.raises(DataError, match="batches"):
        measure(model, data[1:], distance)


@pytest.mark.parametrize("n_answers", [0, -1, 2.5, True])
def test_answers_must_be_counted(n_answers):
    model, _, _, data, _ = measurable("gpt2", 2)
    with pytest.raises(SettingError, match="n_answers must be a whole number from 1"):
        answer_distance(model, data, LOSS, n_answers=n_answers)
