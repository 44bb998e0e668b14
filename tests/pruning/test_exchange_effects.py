"""What the return or the removal of each head is foretold to do, against losses that were measured."""

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from haarbor.errors import PruningError
from haarbor.pruning import ModelBatch, answer_distance, model_batches
from haarbor.pruning._exchange_effects import exchange_effects
from haarbor.pruning._leftover_gradients import drawn_labels
from haarbor.pruning._metrics import METRICS, Metric, logits_of, measure
from haarbor.pruning._model_batches import forward
from haarbor.pruning._refitted_network import RefittedNetwork
from tests.pruning.builders import choice_at_random, linear_heads, measurable


def doubled(batch):
    return ModelBatch(
        inputs={name: x.double() if x.is_floating_point() else x for name, x in batch.inputs.items()},
        labels=batch.labels,
    )


def made(name, n=3, size=1):
    model, heads, moments, data, loss = measurable(name, n, size=size)
    model.double()
    return RefittedNetwork(model, heads, moments), [doubled(batch) for batch in data], loss


def one_by_one(metric):
    """The same metric, of which batches cannot be run together."""
    return Metric(metric.name, metric.function, metric.higher_is_better, metric.shown, metric.differentiable)


def counts_of(data, metric, network):
    return measure(network.model, data, metric).counts


def derivatives(network, removed, data, metric, step=1e-5):
    """Of the sum over each batch, by a factor in front of each head: two losses close to each other."""
    heads = network.heads
    found = np.zeros((len(data), heads.n_heads))
    for head in range(heads.n_heads):
        ends = []
        for sign in (-1, 1):
            factors = [torch.ones(layer.n_heads, dtype=torch.float64) for layer in heads.layers]
            factors[heads.layer_of_head[head]][heads.head_in_layer[head]] += sign * step
            with torch.no_grad(), network.gated(removed, factors):
                ends.append([float(metric.graded_total(network.model, batch)[0]) for batch in data])
        found[:, head] = (np.array(ends[1]) - np.array(ends[0])) / (2 * step)
    return found


def without(network, removed, data, metric):
    with network.without(removed):
        return measure(network.model, data, metric).value


def test_two_heads_by_hand():
    """Heads that give the same, of weights 1 and 3; the first stands in for the second."""
    x = np.array([[1.0, 1.0], [-1.0, -1.0]])
    model, heads, moments, error = linear_heads([[1.0, 3.0]], x)
    network = RefittedNetwork(model, heads, moments)
    data = model_batches({"x": x, "labels": torch.tensor([0, 1])})
    # The ridge is a tenth: the first has the weight 1 + 3 / 1.1 = 41 / 11 now, and 3 / 11 are missing.
    with network.without(np.array([False, True])):
        assert measure(model, data, error).value == pytest.approx(9 / 121)
    first = exchange_effects(network, np.array([False, True]), data, error)
    # The second brings 3 / 11: in either row by the derivative -2 * 9 / 121, and half of its square.
    assert first[1] == pytest.approx(-18 / 121 + (18 / 121) ** 2 / 2)
    # The removal of the first takes away 41 / 11.
    assert first[0] == pytest.approx(2 * 3 * 41 / 121 + (2 * 3 * 41 / 121) ** 2 / 2)


@pytest.mark.parametrize("name", ["gpt2", "zoo-vit", "multihead"])
@pytest.mark.parametrize("together", [True, False])
def test_it_is_made_of_the_derivatives_of_the_loss_by_the_factors(name, together, rng):
    """Slow reference: two losses a small step apart, for heads that are gone and for heads that stay."""
    network, data, loss = made(name)
    if name == "gpt2":
        data[1] = doubled(model_batches({"input_ids": data[1].inputs["input_ids"][:, :6]})[0])
    removed = choice_at_random(rng, network.heads, 4)
    counts = counts_of(data, loss, network)
    assert np.unique(counts).size == (2 if name == "gpt2" else 1)
    by_batch = derivatives(network, removed, data, loss)
    expected = np.where(removed, 1, -1) * by_batch.sum(axis=0) / counts.sum()
    expected += np.mean(by_batch**2 / counts[:, None], axis=0) / 2
    assert np.abs(expected[removed]).min() > 1e-5
    asked = loss if together else one_by_one(loss)
    found = exchange_effects(network, removed, data, asked)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_rows_of_a_batch_are_samples_where_they_can_be_told_apart(rng):
    network, data, loss = made("gpt2", n=2, size=3)
    removed = choice_at_random(rng, network.heads, 4)
    found = exchange_effects(network, removed, data, loss)
    single = [row for batch in data for row in batch.rows()]
    alone = exchange_effects(network, removed, single, one_by_one(loss))
    np.testing.assert_allclose(found, alone, rtol=1e-8)
    np.testing.assert_allclose(exchange_effects(network, removed, data, one_by_one(loss)), alone, rtol=1e-8)
    # A metric that does not show the network a whole batch has fewer and larger squares, and the same mean.
    joint = exchange_effects(network, removed, data, Metric("in parts", in_parts(loss)))
    assert np.abs(joint - alone).max() > 1e-6


def in_parts(metric):
    def asked(model, batch):
        each = [metric.function(model, row) for row in batch.rows()]
        return sum(total for total, _ in each), sum(count for _, count in each)

    return asked


def small_heads(name, share):
    """A network in whose layers heads count for little: what is foretold to second order is all there is."""
    network, data, loss = made(name, n=6)
    with torch.no_grad():
        for layer in network.heads.layers:
            network.model.get_submodule(layer.projection).weight.mul_(share)
    moments = [
        type(own)(**{name: getattr(own, name) for name in own.__slots__ if name != "weight"},
                  weight=own.weight * share)
        for own in measurable(name, 6)[2]
    ]  # fmt: skip
    return RefittedNetwork(network.model, network.heads, moments), data, loss


@pytest.mark.parametrize(("name", "higher"), [("gpt2", False), ("zoo-vit", False), ("zoo-vit", True)])
def test_what_small_heads_do_is_foretold(name, higher, rng):
    """Slow reference: the loss measured with each head returned or gone."""
    network, data, loss = small_heads(name, 1e-4)
    sign = 1.0
    if higher:
        loss = Metric("goodness", goodness, True)
        sign = -1.0
    removed = choice_at_random(rng, network.heads, 5)
    now, measured = without(network, removed, data, loss), []
    for head in range(network.heads.n_heads):
        other = removed.copy()
        other[head] = not removed[head]
        measured.append(sign * (without(network, other, data, loss) - now))
    found = exchange_effects(network, removed, data, loss)
    np.testing.assert_allclose(found, measured, rtol=0, atol=0.01 * np.abs(measured).max())
    # Both ways: some are foretold to lower the loss, and some to raise it.
    for kind in (removed, ~removed):
        assert np.corrcoef(found[kind], np.array(measured)[kind])[0, 1] > 0.999
    assert found.min() < 0 < found.max()


def goodness(model, batch):
    total, count = METRICS["classification-loss"].function(model, batch)
    return -total, count


def test_a_distance_is_foretold_to_second_order_with_the_curvature_of_the_answers(rng):
    """Slow reference: relative entropies measured; the curvature is summed over all labels, not drawn."""
    network, data, loss = small_heads("zoo-vit", 1e-4)
    distance = answer_distance(network.model, data, loss)
    removed = choice_at_random(rng, network.heads, 5)

    def of_label(label):
        def of_answer(logits, _batch):
            logs = torch.log_softmax(logits, dim=-1)
            share = 0.0 if label is None else logs.detach().exp()[:, label].sqrt()
            return -(share * logs[:, label or 0]).sum(), float(len(logits))

        return Metric("one label", lambda m, b: of_answer(logits_of(forward(m, b)), b),
                      graded_of_answer=of_answer)  # fmt: skip

    first, *curved = (
        exchange_effects(network, removed, data, distance, drawn=of_label(label))
        for label in (None, *range(5))
    )
    found = first + sum(each - first for each in curved)
    now, measured = without(network, removed, data, distance), []
    for head in range(network.heads.n_heads):
        other = removed.copy()
        other[head] = not removed[head]
        measured.append(without(network, other, data, distance) - now)
    # Relative entropies are computed in float32.
    np.testing.assert_allclose(found, measured, rtol=0.02, atol=0.02 * np.abs(measured).max())
    # Without the curvature it would be another number.
    assert np.abs(first - measured).max() > 0.2 * np.abs(measured).max()


def test_drawn_labels_stand_for_the_curvature_alone(rng):
    network, data, loss = made("zoo-vit", n=6)
    removed = choice_at_random(rng, network.heads, 4)
    drawn = drawn_labels(loss, 0)
    found = exchange_effects(network, removed, data, loss, drawn=drawn)
    # What labels are drawn by is in float32, which a smaller step would drown in.
    by_loss = derivatives(network, removed, data, loss)
    by_drawn = derivatives(network, removed, data, drawn, step=1e-3)
    expected = np.where(removed, 1, -1) * by_loss.mean(axis=0) + np.mean(by_drawn**2, axis=0) / 2
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    assert np.abs(by_drawn**2 - by_loss**2).max() > 1e-3


def test_the_accuracy_goes_by_its_loss_and_what_should_be_high_by_its_fall(rng):
    network, data, loss = made("zoo-vit", n=5)
    removed = choice_at_random(rng, network.heads, 4)
    expected = exchange_effects(network, removed, data, loss)
    by_accuracy = exchange_effects(network, removed, data, METRICS["accuracy"])
    np.testing.assert_array_equal(by_accuracy, expected)
    turned = Metric("goodness", goodness, True)
    np.testing.assert_allclose(
        exchange_effects(network, removed, data, turned), expected, rtol=1e-8, atol=1e-12
    )


@settings(max_examples=10)
@given(st.permutations(range(4)), st.integers(0, 12), st.integers(0, 2**32 - 1))
def test_neither_the_order_of_batches_nor_their_number_matters(order, n_removed, seed):
    network, data, loss = vit()
    removed = choice_at_random(np.random.default_rng(seed), network.heads, n_removed)
    found, turned, twice = (
        exchange_effects(network, removed, [data[k] for k in chosen], loss)
        for chosen in (range(4), order, [*order, *order])
    )
    np.testing.assert_allclose(turned, found, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(twice, found, rtol=1e-8, atol=1e-12)


@cache
def vit():
    return made("zoo-vit", n=4)


def test_nothing_is_left_behind():
    network, data, loss = made("gpt2")
    weights = {name: value.clone() for name, value in network.model.state_dict().items()}
    exchange_effects(network, network.heads.mask([0, 5]), data, loss)
    for name, value in network.model.state_dict().items():
        assert torch.equal(value, weights[name])
    for part in network.model.modules():
        assert not part._forward_hooks
        assert not part._forward_pre_hooks
    assert all(each.grad is None and each.requires_grad for each in network.model.parameters())


def test_a_loss_without_a_gradient_is_refused():
    network, data, _ = made("gpt2")
    count = Metric("count", lambda model, batch: torch.tensor(1.0))
    with pytest.raises(PruningError, match="the metric 'count' has no gradient"):
        exchange_effects(network, network.heads.mask([0]), data, count)
