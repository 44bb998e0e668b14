"""Derivatives by factors in front of what the rest of a layer cannot give for a head."""

import copy

import numpy as np
import pytest
import torch

from haarbor.errors import DataError, PruningError
from haarbor.pruning import (
    backward_elimination,
    calibration_pass,
    masked_token_loss,
    network_heads,
    pruning_scores,
)
from haarbor.pruning._backward_elimination import LayerElimination
from haarbor.pruning._compensation import fitted_projection
from haarbor.pruning._gate_gradients import gate_gradients
from haarbor.pruning._layer_moments import layer_moments
from haarbor.pruning._leftover_gradients import (
    LeftoverGradients,
    drawn_labels,
    leftover_gradients,
    leftover_gradients_of,
)
from haarbor.pruning._metrics import METRICS, Metric, logits_of
from haarbor.pruning._model_batches import forward
from tests.pruning.builders import CALIBRATION
from tests.pruning.small_networks import batches, network

LOSS = METRICS["loss"]


def made(name, n=4, size=1, metric=LOSS, **given):
    model, data = network(name).double(), batches(name, n, size=size)
    data = [
        type(batch)(
            inputs={key: x.double() if x.is_floating_point() else x for key, x in batch.inputs.items()},
            labels=batch.labels,
        )
        for batch in data
    ]
    heads = network_heads(model, data[0])
    moments = layer_moments(model, heads, data)
    return model, heads, moments, data, leftover_gradients(model, heads, moments, data, metric, **given)


def moved(model, layer, fit, step):
    """A copy of a model, its projection a step on the way to the refitted one."""
    other = copy.deepcopy(model)
    projection = other.get_submodule(layer.projection)
    weight = torch.as_tensor(fit.weight.copy())
    # GPT-2 has its weights the other way round.
    weight = weight if isinstance(projection, torch.nn.Linear) else weight.T
    with torch.no_grad():
        projection.weight += step * (weight - projection.weight)
        if projection.bias is not None:
            projection.bias += step * (torch.as_tensor(fit.bias.copy()) - projection.bias)
        else:
            projection.bias = torch.nn.Parameter(step * torch.as_tensor(fit.bias.copy()))
    return other


def loss_of(model, batch, metric=LOSS):
    with torch.no_grad():
        total, count = metric.graded_total(model, batch)
    return float(total) / np.sqrt(count)


def half_of(moment, layer):
    elimination = LayerElimination(moment.relative_covariance, moment.weight, layer, 1e-3)
    return np.array([head for head, _cost in elimination.first_half()])


# Llama and OPT have steps in float32 within, which a small difference would drown in.
@pytest.mark.parametrize(
    ("name", "step", "tolerance"),
    [("llama", 3e-3, 5e-4), ("gpt2", 1e-5, 1e-7), ("zoo-vit", 1e-5, 1e-7), ("opt", 3e-3, 5e-4)],
)
def test_a_derivative_is_that_of_the_loss_on_the_way_to_the_refitted_layer(name, step, tolerance):
    """Slow reference: weights moved a little towards the refit of each removal, and the loss measured."""
    metric = METRICS["classification-loss" if name == "zoo-vit" else "loss"]
    model, heads, moments, data, found = made(name, metric=metric)
    assert np.abs(found.by_sample).max() > 100 * tolerance
    place = 0
    for number, (moment, layer) in enumerate(zip(moments, heads.layers, strict=True)):
        choices = [(place + head, np.array([head])) for head in range(layer.n_heads)]
        choices.append((heads.n_heads + number, half_of(moment, layer)))
        place += layer.n_heads
        for factor, gone in choices:
            fit = fitted_projection(moment, layer, gone)
            ends = [moved(model, layer, fit, sign * step) for sign in (-1, 1)]
            for sample, batch in enumerate(data):
                before, after = (loss_of(end, batch, metric) for end in ends)
                # A factor of one is the whole network: less of it is a step towards the refit.
                expected = -(after - before) / (2 * step)
                assert found.by_sample[0, sample, factor] == pytest.approx(expected, rel=1e-3, abs=tolerance)


@pytest.mark.parametrize("name", ["llama", "opt", "multihead"])
def test_rows_run_together_have_their_own_derivatives(name):
    *_, one_by_one = made(name, n=6, size=1, metric=Metric("loss", LOSS.function))
    *_, together = made(name, n=6, size=1)
    np.testing.assert_allclose(together.by_sample, one_by_one.by_sample, rtol=1e-4, atol=1e-8)
    model, heads, moments, data, _ = made(name, n=3, size=2)
    rows = leftover_gradients(model, heads, moments, data, LOSS).by_sample
    assert rows.shape[1] == 6
    # A metric that asks the model itself has those of the rows of every batch.
    asked = leftover_gradients(model, heads, moments, data, Metric("loss", LOSS.function)).by_sample
    np.testing.assert_allclose(rows, asked, rtol=1e-4, atol=1e-8)
    # One that does not show the model a whole batch has one sample a batch.
    in_parts = Metric("loss", lambda model, batch: sum(LOSS.function(model, row)[0] for row in batch.rows()))
    whole = leftover_gradients(model, heads, moments, data, in_parts)
    assert whole.by_sample.shape[1] == 3
    n_answers = np.sqrt(2 * (data[0].tokens.shape[1] - 1))
    np.testing.assert_allclose(
        rows.reshape(3, 2, -1).sum(axis=1) * n_answers / np.sqrt(2), whole.by_sample[0], rtol=1e-4, atol=1e-8
    )


def test_a_batch_that_a_metric_shows_in_parts_is_one_sample():
    """Where the others are not: no batch that comes later may stop the work."""

    def loss(model, batch):
        if len(batch) < 3:
            return LOSS.function(model, batch)
        parts = [LOSS.function(model, row) for row in batch.rows()]
        return sum(total for total, _ in parts), sum(count for _, count in parts)

    model, heads, moments, data, _ = made("llama", n=2, size=2)
    mixed = [data[0], *made("llama", n=1, size=3)[3], data[1]]
    found = leftover_gradients(model, heads, moments, mixed, Metric("in parts", loss))
    assert found.by_sample.shape[1] == 2 + 1 + 2
    rows = leftover_gradients(model, heads, moments, mixed, LOSS).by_sample[0]
    np.testing.assert_allclose(found.by_sample[0, [0, 1, 3, 4]], rows[[0, 1, 5, 6]], rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(
        found.by_sample[0, 2], rows[2:5].sum(axis=0) / np.sqrt(3), rtol=1e-4, atol=1e-8
    )


def vectors_of(model, batch):
    return forward(model, batch).logits[:, -1]


def apart(vectors):
    """A loss that no row has by itself."""
    return torch.cdist(vectors, vectors, compute_mode="donot_use_mm_for_euclid_dist").square().sum() / 100


def test_rows_whose_loss_hangs_on_each_other_are_told_apart():
    """Slow reference: one row after the other answered by a network a little on the way to each removal."""
    metric = Metric("apart", lambda model, batch: (apart(vectors_of(model, batch)), float(len(batch))))
    model, heads, moments, data, found = made("gpt2", n=2, size=3, metric=metric)
    assert found.by_sample.shape == (1, 6, heads.n_heads + len(heads))
    np.testing.assert_array_equal(found.n_answers, np.ones(6))
    step, head = 1e-5, 0
    for moment, layer in zip(moments, heads.layers, strict=True):
        for own in range(layer.n_heads):
            fit = fitted_projection(moment, layer, np.array([own]))
            ends = [moved(model, layer, fit, sign * step) for sign in (-1, 1)]
            for place, batch in enumerate(data):
                with torch.no_grad():
                    whole = vectors_of(model, batch)
                    others = [vectors_of(end, batch) for end in ends]
                for row in range(3):
                    only = (torch.arange(3) == row)[:, None]
                    before, after = (float(apart(torch.where(only, other, whole))) for other in others)
                    expected = -(after - before) / (2 * step)
                    assert found.by_sample[0, 3 * place + row, head] == pytest.approx(
                        expected, rel=1e-3, abs=1e-6
                    )
            head += 1
    assert np.abs(found.by_sample).max() > 1e-3


def test_the_mean_square_with_drawn_labels_is_twice_the_relative_entropy():
    """Slow reference: the answers a small step on the way to each removal, compared with those before."""
    model, heads, moments, data, found = made("llama", drawn=True, n_draws=400)
    assert found.by_sample.shape == (400, 4, heads.n_heads + len(heads))
    step, expected = 1e-3, []
    for moment, layer in zip(moments, heads.layers, strict=True):
        for head in range(layer.n_heads):
            other = moved(model, layer, fitted_projection(moment, layer, np.array([head])), step)
            changes = []
            for batch in data:
                with torch.no_grad():
                    p, q = (torch.log_softmax(logits_of(forward(each, batch)), -1) for each in (model, other))
                changes.append(float((p.exp() * (p - q)).sum(-1).mean()))
            expected.append(2 * np.mean(changes) / step**2)
    # A mean of 1,600 squares, a few of which are large.
    np.testing.assert_allclose(found.head_prices, expected, rtol=0.25)
    assert np.corrcoef(found.head_prices, expected)[0, 1] > 0.99


def test_the_same_labels_are_drawn_again():
    model, heads, moments, data, first = made("llama", drawn=True)
    again = leftover_gradients(model, heads, moments, data, LOSS, drawn=True)
    np.testing.assert_array_equal(first.by_sample, again.by_sample)
    other = leftover_gradients(model, heads, moments, data, LOSS, drawn=True, seed=100)
    assert (np.abs(other.by_sample - first.by_sample).max(axis=(1, 2)) > 0).all()
    # The second labels of one seed are the first of the next.
    next_one = leftover_gradients(model, heads, moments, data, LOSS, drawn=True, seed=1, n_draws=1)
    np.testing.assert_array_equal(next_one.by_sample[0], first.by_sample[1])


def test_a_network_that_answers_with_vectors_has_the_gradient_of_its_metric():
    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network("llama").model

        def forward(self, input_ids):
            return self.inner(input_ids=input_ids)

    model, data = Encoder().eval(), batches("llama", 3, size=2)
    heads = network_heads(model, data[0])
    metric = Metric(
        "size of the vectors", lambda model, batch: forward(model, batch).last_hidden_state.square().mean()
    )
    moments = layer_moments(model, heads, data)
    plain = leftover_gradients(model, heads, moments, data, metric)
    drawn = leftover_gradients(model, heads, moments, data, metric, drawn=True)
    assert plain.by_sample.shape == (1, 6, heads.n_heads + len(heads))
    assert np.abs(plain.by_sample).max() > 0
    np.testing.assert_array_equal(plain.by_sample, drawn.by_sample)


@pytest.mark.parametrize("graded", [True, False])
def test_samples_are_counted_while_gradients_are_taken(graded):
    model, data = network("llama"), batches("llama", 3, size=2)
    metric, told = (LOSS if graded else Metric("loss", LOSS.function)), []
    found = calibration_pass(
        model, data, parts={"gradients", "drawn gradients"}, metric=metric,
        on_progress=lambda *step: told.append(step),
    )  # fmt: skip
    steps = [step for step in told if step[0] == "gradients"]
    assert {total for _, _, total in steps} == {6}
    # First by gates, then with drawn labels, which are run together whatever the metric is.
    by_gates = [6] if graded else [2, 4, 6]
    assert [done for _, done, _ in steps] == [*by_gates, 6]
    assert found.drawn_gradients.by_sample.shape[:2] == (4, 6)


def test_prices_are_mean_squares():
    gradients = LeftoverGradients(
        by_sample=np.array([[[1.0, -2.0, 3.0], [3.0, 0.0, 1.0]], [[1.0, 2.0, 1.0], [1.0, 0.0, 1.0]]]),
        n_layers=1,
        n_answers=np.array([4.0, 9.0]),
    )
    np.testing.assert_allclose(gradients.head_prices, [3.0, 2.0])
    np.testing.assert_allclose(gradients.layer_prices, [3.0])
    np.testing.assert_allclose(gradients.over(slice(0, None, 2)).head_prices, [1.0, 4.0])
    np.testing.assert_allclose(gradients.over(slice(2, None, 2)).head_prices, [3.0, 2.0])
    assert repr(gradients) == "LeftoverGradients(2 heads, 2 samples, 2 draws)"


def test_rises_are_means_beyond_their_standard_error_by_hand():
    # Sums over 4, 4 and 1 answers, divided by the roots of these.
    totals = np.array([[-8.0, 8.0, -4.0, 1.0], [-4.0, 4.0, 4.0, 1.0], [-6.0, 6.0, 0.0, 1.0]])
    answers = np.array([4.0, 4.0, 1.0])
    found = LeftoverGradients(
        by_sample=(totals / np.sqrt(answers)[:, None])[None], n_layers=1, n_answers=answers
    )
    # The first falls by two an answer with its factor, so rises without it; deviations 0, 4 and -4.
    error = np.sqrt((0 + 16 + 16) * 3 / 2) / 9
    np.testing.assert_allclose(found.head_rises, [2 - error, 0.0, 0.0])
    turned = LeftoverGradients(by_sample=found.by_sample, n_layers=1, n_answers=answers, sign=-1.0)
    np.testing.assert_allclose(turned.head_rises, [0.0, 2 - error, 0.0])
    # Of one sample nothing is known of chance.
    np.testing.assert_array_equal(found.over(slice(0, 1)).head_rises, [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(found.over(slice(0, 3, 2)).n_answers, [4.0, 1.0])


@pytest.mark.parametrize(("name", "size"), [("gpt2", 1), ("gpt2", 3), ("zoo-vit", 2)])
def test_rises_are_those_of_the_loss_on_the_way_to_the_refitted_layer(name, size):
    """Slow reference: the loss of every sample a little on the way to each removal."""
    metric = METRICS["classification-loss" if name == "zoo-vit" else "loss"]
    model, heads, moments, data, found = made(name, n=6, size=size, metric=metric)
    rows, step, expected = [row for batch in data for row in batch.rows()], 1e-5, []
    for moment, layer in zip(moments, heads.layers, strict=True):
        for head in range(layer.n_heads):
            fit = fitted_projection(moment, layer, np.array([head]))
            ends = [moved(model, layer, fit, sign * step) for sign in (-1, 1)]
            slopes = []
            for row in rows:
                with torch.no_grad():
                    (before, count), (after, _) = (metric.graded_total(end, row) for end in ends)
                slopes.append(float(after - before) / (2 * step) / count)
            error = np.std(slopes, ddof=1) / np.sqrt(len(slopes))
            expected.append(max(np.mean(slopes) - error, 0.0))
    np.testing.assert_allclose(found.head_rises, expected, rtol=1e-3, atol=1e-6)
    assert 0 < np.count_nonzero(expected) < heads.n_heads


@pytest.mark.parametrize("graded", [True, False])
def test_both_kinds_of_labels_share_a_pass_forward(graded):
    metric = LOSS if graded else Metric("loss", LOSS.function)
    model, heads, moments, data, given = made("llama", n=4, size=2, metric=metric)
    drawn = leftover_gradients(model, heads, moments, data, metric, drawn=True)
    calls = []
    handle = model.register_forward_hook(lambda *_: calls.append(1))
    both = leftover_gradients_of(model, heads, moments, data, metric, [False, True])
    n_together = len(calls)
    for one, other in zip(both, (given, drawn), strict=True):
        np.testing.assert_allclose(one.by_sample, other.by_sample, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(one.n_answers, other.n_answers)
    calls.clear()
    for kind in (False, True):
        leftover_gradients(model, heads, moments, data, metric, drawn=kind)
    handle.remove()
    # What is no function of the scores is asked batch by batch, and drawn labels need not wait for it.
    assert (n_together < len(calls)) == graded


def test_rises_come_on_top_of_prices():
    model = network("llama")
    found = calibration_pass(model, CALIBRATION, parts={"leftover gradients", "drawn gradients"})
    rises = found.leftover_gradients.head_rises
    assert 0 < np.count_nonzero(rises) < rises.size
    elimination = backward_elimination(
        found.moments, found.heads,
        responses=found.drawn_gradients.head_prices, layer_responses=found.drawn_gradients.layer_prices,
        rises=2 * rises,
    )  # fmt: skip
    scores = pruning_scores(found, ["leftover-taylor", "leftover-fisher"])
    np.testing.assert_array_equal(scores["leftover-taylor"], elimination.ranks)
    assert not np.array_equal(scores["leftover-taylor"], scores["leftover-fisher"])


def test_scores_are_eliminations_in_units_of_prices():
    model = network("llama")
    found = calibration_pass(model, CALIBRATION, parts={"leftover gradients", "drawn gradients"})
    scores = pruning_scores(found, ["leftover-gradient", "leftover-fisher", "leftover"])
    for name, gradients in (
        ("leftover-gradient", found.leftover_gradients),
        ("leftover-fisher", found.drawn_gradients),
    ):
        elimination = backward_elimination(
            found.moments, found.heads,
            responses=gradients.head_prices, layer_responses=gradients.layer_prices,
        )  # fmt: skip
        np.testing.assert_array_equal(scores[name], elimination.ranks)
    assert found.leftover_gradients.by_sample.shape[:2] == (1, len(CALIBRATION))
    assert found.drawn_gradients.by_sample.shape[:2] == (4, len(CALIBRATION))
    # In every half of the batches, the samples of those.
    for begin in (0, 1):
        half = found.half_parts(begin)["drawn gradients"]
        np.testing.assert_array_equal(half.by_sample, found.drawn_gradients.by_sample[:, begin::2])


def test_a_head_that_another_can_give_is_free_however_large_its_gradient():
    """A head before and after another one is made to give the same: its own gradient does not say so."""
    model = network("gpt2").double()
    data = batches("gpt2", 4)
    heads = network_heads(model, data[0])
    layer = heads.layers[-1]
    twins = [heads.n_heads - layer.n_heads + head for head in (0, 1)]

    def prices():
        found = leftover_gradients(model, heads, layer_moments(model, heads, data), data, LOSS)
        own = np.square(gate_gradients(model, heads, data, LOSS)).mean(axis=0)
        return found.head_prices[twins[0]], own[twins[0]]

    alone, own_alone = prices()
    first, second = (layer.channels(head) for head in (0, 1))
    joined = model.get_submodule(layer.attention).c_attn
    with torch.no_grad():
        for begin in (0, layer.width, 2 * layer.width):
            for array in (joined.weight, joined.bias):
                given = array[..., begin + first.start : begin + first.stop]
                array[..., begin + second.start : begin + second.stop] = given
    beside_its_twin, own_beside = prices()
    # The ridge keeps the twin from taking over all of it.
    assert beside_its_twin < 0.25 * alone
    assert own_beside > 0.5 * own_alone


def test_what_was_not_gathered_and_what_has_no_gradient_is_told():
    model = network("llama")
    found = calibration_pass(model, CALIBRATION[:2])
    for name, part in (
        ("leftover-gradient", "leftover gradients"),
        ("leftover-fisher", "drawn gradients"),
        ("leftover-taylor", "drawn gradients"),
    ):
        with pytest.raises(PruningError, match=f"needs the {part}"):
            pruning_scores(found, [name])
    count = Metric("count", lambda model, batch: torch.tensor(1.0))
    with pytest.raises(PruningError, match="'count' has no gradient"):
        calibration_pass(model, CALIBRATION[:2], parts={"leftover gradients"}, metric=count)


def test_answers_that_are_no_numbers_are_told():
    model = network("llama")
    with torch.no_grad():
        model.lm_head.weight[3] = float("nan")
    with pytest.raises(DataError, match="answers must be numbers to draw labels from them; found NaN"):
        calibration_pass(model, CALIBRATION, parts={"drawn gradients"})
    # A class that cannot be answered is none of these.
    with torch.no_grad():
        model.lm_head.weight[3] = 0.0
        model.lm_head.register_forward_hook(
            lambda _m, _x, out: out.index_fill(-1, torch.tensor([3]), -torch.inf)
        )
    found = calibration_pass(model, CALIBRATION, parts={"drawn gradients"})
    assert np.isfinite(found.drawn_gradients.by_sample).all()


def test_labels_are_drawn_for_the_answers_that_count():
    model, data = network("bert"), batches("bert", 2, size=2)
    metric = masked_token_loss(96, share=0.3)
    hidden = metric.shown(data[0]).counted
    asked = drawn_labels(metric, 0)
    with torch.no_grad():
        total, count = asked.total(model, data[0])
        logits = logits_of(forward(model, metric.shown(data[0])))
    assert 0 < count == float(hidden.sum()) < hidden.numel()
    assert float(total) == pytest.approx(float(asked.graded_of_answer(logits, data[0])[0]))
    # Every label is one that the answer could be: the loss is at least that of the likeliest ones.
    assert float(total) >= float(-torch.log_softmax(logits[hidden], -1).max(-1).values.sum())
