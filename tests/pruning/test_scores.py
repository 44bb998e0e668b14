"""Scores of heads, those of users among them."""

import numpy as np
import pytest

from haarbor.errors import DataError, PruningError, SettingError
from haarbor.pruning import calibration_pass, pruning_scores, register_score
from haarbor.pruning._scores import SCORES, score_removal
from tests.assertions import assert_close
from tests.pruning.small_networks import batches, network


def test_gradient_scores_are_their_definitions():
    model, data = network("llama"), batches("llama", 3, size=1)
    found = calibration_pass(model, data, parts={"gradients"})
    scores = pruning_scores(found, ["gradient", "taylor", "fisher"])
    assert_close(scores["gradient"], np.mean([abs(g) for g in found.gradients], axis=0))
    assert_close(scores["taylor"], -np.mean(list(found.gradients), axis=0))
    assert_close(scores["fisher"], np.mean([g**2 for g in found.gradients], axis=0))


def test_a_score_of_the_user_is_asked_for_by_name():
    found = calibration_pass(network("llama"), batches("llama"))
    register_score("late-first", lambda seen: -seen.heads.layer_of_head, meaning="late layers")
    try:
        assert pruning_scores(found, ["late-first"])["late-first"].tolist() == [0] * 4 + [-1] * 4 + [-2] * 4
        with pytest.raises(SettingError, match="there is a score 'late-first' already"):
            register_score("late-first", lambda seen: seen)
    finally:
        del SCORES["late-first"]
    register_score("short", lambda _seen: [1.0])
    try:
        with pytest.raises(DataError, match="must give one finite number per head, 12"):
            pruning_scores(found, ["short"])
    finally:
        del SCORES["short"]
    with pytest.raises(SettingError, match="a score must be one of"):
        pruning_scores(found, ["magic"])


@pytest.mark.parametrize(("name", "part"), [("gradient", "gradients"), ("h400", "attention")])
def test_scores_say_what_the_pass_did_not_gather(name, part):
    found = calibration_pass(network("llama"), batches("llama"))
    with pytest.raises(PruningError, match=f"needs the {part} of the heads"):
        pruning_scores(found, [name])


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


def test_a_choice_decides_which_heads_go_over_the_whole_network():
    found = calibration_pass(network("llama"), batches("llama"))
    values = np.arange(12.0)

    def every_other(_seen, n_removed):
        return np.arange(12) % 2 == 1 if n_removed == 6 else np.zeros(12, bool)

    register_score("odd", lambda _seen: values, choice=every_other)
    try:
        assert score_removal("odd", values, found, 6).tolist() == [False, True] * 6
        # Per layer, the numbers decide.
        assert np.flatnonzero(score_removal("odd", values, found, 3, within="layer")).tolist() == [0, 4, 8]
        with pytest.raises(DataError, match="the choice of the score 'odd' must be True at 5 of 12 heads"):
            score_removal("odd", values, found, 5)
    finally:
        del SCORES["odd"]
    register_score("first-layer", lambda _seen: values, choice=lambda _seen, n_removed: values < n_removed)
    try:
        with pytest.raises(DataError, match=r"every layer must keep a head; .* leaves none in layer 0"):
            score_removal("first-layer", values, found, 4)
    finally:
        del SCORES["first-layer"]
    with pytest.raises(SettingError, match="a score must be a function of the calibration pass; found 3"):
        register_score("wrong", lambda _seen: values, choice=3)
