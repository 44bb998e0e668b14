"""What is not as it must be, given from Python: one line that says what must hold, and never a traceback."""

import copy

import pytest
import torch

import haarbor as hb
from haarbor.errors import DataError, HaarborError, PruningError, SettingError
from haarbor.pruning import (
    Metric,
    backward_elimination,
    calibration_pass,
    compensate,
    damage_curves,
    exchange_search,
    head_damage,
    mask_heads,
    network_heads,
    prune_heads,
    pruning_scores,
    pruning_study,
    register_score,
    score_names,
)
from haarbor.pruning._scores import SCORES
from tests.pruning.builders import assert_one_line
from tests.pruning.small_networks import batches, network
from tests.pruning.small_searches import MadeUpLoss, squares


@pytest.fixture(scope="module")
def llama():
    return network("llama")


@pytest.fixture(scope="module")
def data():
    return batches("llama", 4, size=1)


@pytest.fixture(scope="module")
def found(llama, data):
    return calibration_pass(llama, data[:2])


@pytest.mark.parametrize("model", [None, 3, "gpt2", torch.nn.Linear])
def test_a_model_must_be_a_network(model, data, found):
    for call in (
        lambda: hb.ablate(model, [(0, 0)], batches=data),
        lambda: head_damage(model, batches=data),
        lambda: network_heads(model, data[0]),
        lambda: calibration_pass(model, data),
        lambda: prune_heads(model, found.heads, [(0, 0)], batch=data[0]),
        lambda: mask_heads(model, found.heads, [(0, 0)], batch=data[0]),
        lambda: pruning_study(model, data, data, ["norm"], budget=0.5, shares=[]),
    ):
        with pytest.raises(SettingError, match=r"the model must be a torch\.nn\.Module; found") as refused:
            call()
        assert_one_line(refused)


def test_a_model_must_not_be_compiled(llama, data, found):
    whole, called, part = torch.compile(llama, backend="eager"), copy.deepcopy(llama), copy.deepcopy(llama)
    called.compile(backend="eager")
    part.model.layers[1].self_attn = torch.compile(part.model.layers[1].self_attn, backend="eager")
    for model, name in ((whole, "the model"), (called, "the model"), (part, r"model\.layers\.1\.self_attn")):
        for call in (
            lambda model: hb.ablate(model, [(0, 0)], batches=data),
            lambda model: network_heads(model, data[0]),
            lambda model: prune_heads(model, found.heads, [(0, 0)], batch=data[0]),
            lambda model: pruning_study(model, data, data, ["norm"], budget=0.5, shares=[]),
        ):
            with pytest.raises(
                SettingError, match=f"{name} is compiled. Pass the model as it was"
            ) as refused:
                call(model)
            assert_one_line(refused)


@pytest.mark.parametrize(
    "heads",
    [None, 3, True, "0.1", b"x", object(), [(0, 0), 3], [(0, 0), (1,)], [None], ["0"], [(0, "1")], {"a": 1}],
)
def test_heads_must_be_heads(heads, llama, data, found):
    for call in (
        lambda: hb.ablate(llama, heads, batches=data),
        lambda: prune_heads(llama, found.heads, heads, batch=data[0]),
        lambda: compensate(llama, found.heads, heads, data),
        lambda: found.heads.mask(heads),
    ):
        with pytest.raises(SettingError, match=r"heads must be pairs \(layer, head\), numbers") as refused:
            call()
        assert_one_line(refused)


@pytest.mark.parametrize(
    "wrong", [None, 3, "text", b"x", [None], ["text"], [{"input_ids": "text"}], [{}], []]
)
def test_batches_must_be_batches(wrong, llama):
    with pytest.raises(DataError) as refused:
        hb.ablate(llama, [(0, 0)], batches=wrong)
    assert_one_line(refused)


@pytest.mark.parametrize("metric", [None, 3, "bleu", [], ["loss"], {}])
def test_a_metric_must_be_one(metric, llama, data):
    with pytest.raises(SettingError, match=r"metric must be one of loss, .*; found") as refused:
        hb.ablate(llama, [(0, 0)], batches=data, metric=metric)
    assert_one_line(refused)


@pytest.mark.parametrize("replacement", [None, 3, "magic", []])
def test_a_replacement_must_be_one(replacement, llama, data, found):
    for call in (
        lambda: hb.ablate(llama, [(0, 0)], batches=data, replacement=replacement),
        lambda: damage_curves(llama, found, data[2:], ["norm"], shares=[0.5], replacement=replacement),
    ):
        with pytest.raises(
            SettingError, match=r"replacement must be ('zero' or 'mean'|one of zero, mean, refit)"
        ):
            call()


@pytest.mark.parametrize("scores", [None, 3, "norm", [None], [3], [["norm"]], ["magic"], ["norm", 2.5]])
def test_scores_must_be_names(scores, llama, data, found):
    for call in (
        lambda: pruning_scores(found, scores),
        lambda: damage_curves(llama, found, data[2:], scores, shares=[0.5]),
    ):
        with pytest.raises(SettingError, match="score") as refused:
            call()
        assert_one_line(refused)


@pytest.mark.parametrize("text", [None, 3, ["norm"], "", ",", "random"])
def test_names_of_scores_must_be_a_text(text):
    with pytest.raises(SettingError, match="score"):
        score_names(text)


@pytest.mark.parametrize("ridge", [None, "0.1", -1.0, float("nan"), float("inf"), True])
def test_a_ridge_must_be_a_number(ridge, llama, data, found):
    with pytest.raises(SettingError, match="ridge must not be negative, and a finite number; found"):
        compensate(llama, found.heads, [(0, 0)], data, ridge=ridge)
    with pytest.raises(SettingError, match="ridge must not be negative, and a finite number; found"):
        backward_elimination(found.moments, found.heads, ridge=ridge)


@pytest.mark.parametrize("n_seeds", [0, -1, None, 1.5, "5", True])
def test_seeds_must_be_counted(n_seeds, llama, data, found):
    with pytest.raises(SettingError, match="n_seeds must be a whole number above 0; found"):
        damage_curves(llama, found, data[2:], ["random"], shares=[0.5], n_seeds=n_seeds)


@pytest.mark.parametrize("parts", [None, "attention", ["magic"], [None], [["attention"]]])
def test_parts_must_be_those_that_can_be_gathered(parts, llama, data):
    with pytest.raises(SettingError, match="parts must be"):
        calibration_pass(llama, data, parts=parts)


@pytest.mark.parametrize(
    ("name", "function", "needs"),
    [
        (None, len, ()),
        (3, len, ()),
        ("", len, ()),
        ("a,b", len, ()),
        ("random", len, ()),
        ("all", len, ()),
        ("mine", None, ()),
        ("mine", "len", ()),
        ("mine", len, ("magic",)),
        ("mine", len, "attention"),
        ("mine", len, None),
    ],
)
def test_a_score_of_the_user_must_be_a_named_function(name, function, needs):
    with pytest.raises(SettingError) as refused:
        register_score(name, function, needs=needs)
    assert_one_line(refused)
    assert "mine" not in SCORES


@pytest.mark.parametrize("answer", [None, "low", ["low"] * 12, [1.0], [[1.0] * 12], [float("nan")] * 12, {}])
def test_a_score_must_give_a_number_a_head(answer, found):
    register_score("mine", lambda _found: answer)
    try:
        with pytest.raises(DataError, match="'mine' must give one finite number per head, 12; ") as refused:
            pruning_scores(found, ["mine"])
        assert_one_line(refused)
    finally:
        del SCORES["mine"]


@pytest.mark.parametrize("token", [-1, 97, 10**9])
def test_tokens_must_be_in_the_vocabulary(token, llama):
    ids = torch.full((2, 6), 5)
    ids[1, 3] = token
    with pytest.raises(DataError, match=f"from 0 to 96, .*; found {token}"):
        hb.ablate(llama, [(0, 0)], batches={"input_ids": ids})


def test_inputs_that_a_model_does_not_take_are_one_line(llama):
    own = network("multihead")
    for model, inputs in (
        (llama, {"words": torch.zeros(1, 3)}),
        (llama, {"input_ids": torch.zeros(1, 3)}),
        (own, {"input_ids": torch.full((1, 4), 5000)}),
        (network("zoo-vit"), {"pixel_values": torch.zeros(1, 3, 8, 8)}),
    ):
        with pytest.raises(HaarborError) as refused:
            hb.ablate(model, [(0, 0)], batches=inputs, metric=lambda _model, _batch: 0.0)
        assert_one_line(refused)


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        ({}, r"must begin from choices of one number of heads; found none\. Pass masks"),
        ({"a": [0], "b": [1, 2]}, r"one number of heads; found \[1, 2\]\. Pass masks"),
        ({"a": [0, 1, 2], "b": [1], "c": [4, 5, 6]}, r"found \[1, 3\]"),
        ({"a": [99]}, "heads must be numbers from 0 to 7"),
        ({"a": "0.1"}, "heads must be pairs"),
    ],
)
def test_starts_must_be_choices_of_one_number(starts, message):
    with pytest.raises(SettingError, match=message) as refused:
        MadeUpLoss(lambda _gone, _place: 1.0).search(starts)
    assert_one_line(refused)


@pytest.mark.parametrize("n_passes", [0, -1, 2.5, True, None, "many", float("nan")])
def test_passes_must_be_counted(n_passes):
    with pytest.raises(SettingError, match="n_passes must be a whole number from 1; found") as refused:
        MadeUpLoss(lambda _gone, _place: 1.0).search([0], n_passes=n_passes)
    assert_one_line(refused)


@pytest.mark.parametrize("n_errors", [-1, float("nan"), float("inf"), True, "3", None])
def test_errors_must_be_a_number(n_errors):
    with pytest.raises(SettingError, match="n_errors must be finite and at least 0; found") as refused:
        MadeUpLoss(lambda _gone, _place: 1.0).search([0], n_errors=n_errors)
    assert_one_line(refused)


def test_the_preferred_start_must_be_one_of_them():
    with pytest.raises(SettingError, match="to prefer must be one of 'a', 'b'; found 'c'") as refused:
        MadeUpLoss(lambda _gone, _place: 1.0).search({"a": [0], "b": [1]}, prefer="c")
    assert_one_line(refused)


def test_what_else_cannot_be_searched_is_refused():
    made = MadeUpLoss(lambda _gone, _place: 1.0)
    with pytest.raises(SettingError, match="within must be one of network, layer, uniform; found 'block'"):
        made.search([0], within="block")
    count = Metric("count", lambda _model, _batch: torch.tensor(1.0))
    model, heads, moments, data, _ = squares([1.0, 2.0])
    with pytest.raises(PruningError, match="the metric 'count' has no gradient"):
        exchange_search(model, heads, moments, data, count, {"a": [0]})
    # What was measured until then is not left in the network.
    assert not model.layers[0]._forward_hooks


@pytest.mark.parametrize("wrong", ["moments", "batches", "loss"])
def test_moments_batches_and_a_loss_must_be_those_of_the_network(wrong):
    model, heads, moments, data, error = squares([1.0, 2.0])
    given = {"moments": moments, "batches": data, "loss": error}
    given[wrong] = {"moments": [*moments, *moments], "batches": [], "loss": "bleu"}[wrong]
    with pytest.raises(HaarborError):
        exchange_search(model, heads, starts={"a": [0]}, **given)
