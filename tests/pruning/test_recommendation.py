"""Which score to prune by, and how sure that is."""

from dataclasses import replace

import numpy as np
import pytest

from haarbor.errors import SettingError
from haarbor.pruning import recommendation
from tests.pruning.builders import made_curves


def test_the_best_score_is_chosen_on_even_batches_and_reported_on_odd_ones(rng):
    noise = rng.normal(scale=0.01, size=(1, 1, 8))
    lucky = 1.0 + noise
    lucky[..., ::2] -= 0.9
    found = recommendation(made_curves({"steady": 0.5 + noise, "lucky": lucky}), 0.1)
    assert found.score == "lucky"
    assert found.damage == pytest.approx(1.0, abs=0.05)
    assert found.equals == ("steady",)
    assert found.n_compared == 1
    assert "cannot be told apart from steady" in found.sentence


def test_a_clear_winner_is_said_to_be_one(rng):
    damages = {
        name: level + rng.normal(scale=0.01, size=(1, 1, 8)) for name, level in (("a", 0.1), ("b", 0.5))
    }
    damages["random"] = 0.9 + rng.normal(scale=0.01, size=(5, 1, 8))
    found = recommendation(made_curves(damages), 0.1)
    assert (found.score, found.equals, found.n_compared) == ("a", (), 2)
    assert "better than every other score" in found.sentence


def test_many_comparisons_ask_for_more(rng):
    """A difference that a single test would find is not enough among many."""
    own = np.zeros((1, 1, 16))
    close = (0.1 + 0.12 * np.array([1, 1, -1, -1] * 4))[None, None]
    far = {f"far{number}": np.full((1, 1, 16), 5.0 + number) for number in range(12)}
    assert recommendation(made_curves({"own": own, "close": close}), 0.1).equals == ()
    assert recommendation(made_curves({"own": own, "close": close, **far}), 0.1).equals == ("close",)


@pytest.mark.parametrize(("n_others", "told"), [(3, "other0, other1, other2"), (4, "any of the other 4")])
def test_many_that_are_all_equal_are_not_listed(n_others, told, rng):
    damages = {f"other{number}": 0.5 + rng.normal(scale=0.1, size=(1, 1, 8)) for number in range(n_others)}
    # Better where it is chosen, and no better where it is told.
    own = 0.5 + rng.normal(scale=0.1, size=(1, 1, 8))
    own[..., ::2] -= 0.5
    found = recommendation(made_curves({"own": own, **damages}), 0.1)
    assert (found.score, len(found.equals)) == ("own", n_others)
    assert f"It cannot be told apart from {told} (paired" in found.sentence


def test_controls_are_never_recommended(rng):
    noise = rng.normal(scale=0.01, size=(1, 1, 8))
    found = recommendation(made_curves({"h400": 0.5 + noise, "h400-random-tree": noise}), 0.1)
    assert (found.score, found.equals) == ("h400", ("h400-random-tree",))


def test_scores_are_told_apart_on_batches_that_chose_nothing(rng):
    own, noise = np.zeros((1, 1, 16)), 0.01 * rng.normal(size=16)
    worse_where_chosen = np.where(np.arange(16) % 2 == 0, 1.0 + noise, noise - noise[1::2].mean())[None, None]
    found = recommendation(made_curves({"own": own, "other": worse_where_chosen}), 0.1)
    assert found.score == "own"
    assert found.equals == ("other",)


def test_a_score_without_others_is_not_called_better():
    found = recommendation(made_curves({"own": np.ones((1, 1, 4))}), 0.1)
    assert found.sentence.endswith("It was not compared with any other score.")
    two = recommendation(made_curves({"own": np.ones((1, 1, 4)), "far": np.full((1, 1, 4), 2.0)}), 0.1)
    assert "better than every other score" in two.sentence
    assert two.sentence.endswith("corrected for 1 comparison).")


def test_a_recommendation_needs_batches_and_scores():
    with pytest.raises(SettingError, match="at least 4 evaluation batches; found 2"):
        recommendation(made_curves({"norm": np.ones((1, 1, 2))}), 0.1)
    with pytest.raises(SettingError, match="a score besides chance"):
        recommendation(made_curves({"random": np.ones((1, 1, 4))}), 0.1)
    with pytest.raises(SettingError, match="the share must be one of"):
        recommendation(made_curves({"norm": np.ones((1, 1, 4))}), 0.2)


def test_a_control_stays_one_with_another_replacement(rng):
    noise = rng.normal(scale=0.01, size=(1, 1, 8))
    curves = made_curves({"h400": 0.5 + noise, "h400-random-tree, sequential": noise})
    curve = curves.curves["h400-random-tree, sequential"]
    curves.curves[curve.name] = replace(curve, score="h400-random-tree", replacement="sequential")
    assert recommendation(curves, 0.1).score == "h400"
