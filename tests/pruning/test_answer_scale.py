"""Whether a network is surer of its answers than it is right."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from torch import nn

from haarbor.errors import DataError, HaarborError
from haarbor.pruning import (
    AnswerScale,
    Metric,
    answer_scale,
    measure,
    model_batches,
    pruning_study,
)
from haarbor.pruning._metrics import METRICS
from tests.pruning.builders import CALIBRATION, EVALUATION, LATE_VECTORS, LOSS
from tests.pruning.small_networks import batches, network

CLASSES = METRICS["classification-loss"]


class Scores(nn.Module):
    """Gives the scores that it is shown, times a number."""

    def __init__(self, factor=1.0):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, x):
        return self.factor * x


def shown_scores(n_batches=20, size=200, seed=0):
    """Scores that are as sure as they are right: labels are drawn from them."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(n_batches):
        scores = 2 * torch.randn(size, 5, generator=generator)
        labels = torch.multinomial(scores.softmax(-1), 1, generator=generator)[:, 0]
        found.append({"x": scores, "labels": labels})
    return model_batches(found)


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.25, 2.0])
def test_scores_that_are_too_large_are_made_as_sure_as_they_are_right(factor):
    found = answer_scale(Scores(factor), shown_scores(), CLASSES)
    assert found.factor == pytest.approx(1 / factor, rel=0.05)
    assert (found.sentence != "") == (factor > 1)
    assert found.metric == "classification-loss"


def test_the_gain_is_that_of_the_batches_the_factor_was_not_found_on():
    """Slow reference: the loss of every batch at the factor."""
    data, model = shown_scores(8, 50), Scores(1.5)
    found = answer_scale(model, data, CLASSES)

    def losses(chosen, factor):
        with torch.no_grad():
            return np.array(
                [
                    float(nn.functional.cross_entropy(factor * model(batch.inputs["x"]), batch.labels))
                    for batch in chosen
                ]
            )

    best = minimize_scalar(lambda factor: losses(data[::2], factor).mean(), bounds=(0.4, 1.3)).x
    assert found.factor == pytest.approx(best, abs=0.01)
    gains = losses(data[1::2], 1.0) - losses(data[1::2], found.factor)
    assert found.gain == pytest.approx(gains.mean(), rel=1e-4)
    assert found.standard_error == pytest.approx(gains.std(ddof=1) / 2, rel=1e-4)
    assert not np.isclose(gains.mean(), (losses(data[::2], 1.0) - losses(data[::2], found.factor)).mean())


def test_batches_count_by_what_is_in_them():
    """Two batches of the three to find it on are small, and say something else."""
    large, small = shown_scores(2, 2000), shown_scores(3, 4, seed=1)
    turned = [{"x": batch.inputs["x"], "labels": (batch.labels + 1) % 5} for batch in small]
    mixed = model_batches([*turned[:1], *turned[1:2], dict(x=large[0].inputs["x"], labels=large[0].labels)])
    assert answer_scale(Scores(), [*mixed, large[1]], CLASSES).factor == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("name", ["llama", "opt", "multihead"])
def test_the_gain_is_that_of_the_network_with_such_scores(name):
    """Slow reference: the weights of the last layer times the factor."""
    model, data = network(name), batches(name, 6, size=2)
    last = model.scores if name == "multihead" else model.get_output_embeddings()
    last.weight = nn.Parameter(last.weight.detach() * 40)
    found = answer_scale(model, data)
    before = measure(model, data[1::2], LOSS).value
    with torch.no_grad():
        for parameter in last.parameters():
            parameter *= found.factor
    assert found.factor < 1
    assert found.gain == pytest.approx(before - measure(model, data[1::2], LOSS).value, rel=1e-3)
    assert found.gain > 0


def test_what_no_factor_changes_is_as_sure_as_it_is():
    found = answer_scale(Scores(3.0), shown_scores(4), "accuracy")
    assert (found.factor, found.gain, found.sentence) == (1.0, 0.0, "")


def test_vectors_have_no_scale():
    assert answer_scale(network("llama").model, CALIBRATION, LATE_VECTORS) is None
    assert answer_scale(network("llama"), CALIBRATION, Metric("asked", LOSS.function)) is None


def test_one_batch_is_refused():
    with pytest.raises(DataError, match=r"at least 2 batches, one to find the factor on .*; found 1"):
        answer_scale(Scores(), shown_scores(1), CLASSES)


@pytest.mark.parametrize(
    ("model", "data", "metric"),
    [
        ("no network", shown_scores(2, 4), CLASSES),
        (Scores(), [1, 2], CLASSES),
        (Scores(), shown_scores(2, 4), "?"),
    ],
)
def test_what_is_no_network_no_batch_or_no_metric_is_refused_in_a_line(model, data, metric):
    with pytest.raises(HaarborError) as found:
        answer_scale(model, data, metric)
    assert "\n" not in str(found.value)


def test_the_gain_of_one_batch_is_never_clear():
    found = answer_scale(Scores(2.0), shown_scores(2, 2000), CLASSES)
    assert found.gain > 0.1
    assert found.standard_error == np.inf
    assert found.sentence == ""


def test_scores_that_are_no_numbers_have_no_other_scale():
    data = [{"x": torch.full((4, 5), float("nan")), "labels": torch.zeros(4, dtype=torch.long)}] * 4
    assert answer_scale(Scores(), model_batches(data), CLASSES).factor == 1.0


def test_sentence_in_words():
    given = {"gain": 0.0613, "standard_error": 0.0034, "metric": "loss"}
    assert AnswerScale(factor=0.87, **given).sentence == (
        "The network is surer of its answers than it is right on these data: with its scores times 0.87 its "
        "loss is better by 0.0613 +- 0.0034 with all heads. A removal that seems to improve it may only make "
        "it less sure."
    )
    assert AnswerScale(factor=1.1, **given).sentence == ""
    assert AnswerScale(factor=0.87, **{**given, "standard_error": 0.04}).sentence == ""
    assert repr(AnswerScale(factor=0.87, **given)) == "AnswerScale(0.87: loss better by 0.0613)"


@pytest.mark.parametrize("factor", [0.0, 40.0])
def test_a_study_says_so_where_a_removal_seems_to_improve_the_network(factor):
    """Large scores of a network that knows nothing are wrong: what makes them smaller lowers the loss."""
    model = network("llama")
    with torch.no_grad():
        model.lm_head.weight *= factor
    study = pruning_study(model, CALIBRATION, EVALUATION, ["norm"], budget=0.5, shares=[], replacement="zero")
    seems_better = factor > 0
    assert study.curves.seems_better(0.5) == seems_better
    assert (study.curves.damage("norm")[0] < 0) == seems_better
    assert study.too_sure == (answer_scale(model, EVALUATION).sentence if seems_better else "")
    assert ("surer of its answers than it is right" in study.too_sure) == seems_better
    assert study.summary("llama", "noise")["too_sure"] == study.too_sure
    assert (study.too_sure in study.results("llama", "noise").sentences) == seems_better
