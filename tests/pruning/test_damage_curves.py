import numpy as np
import pytest

from haarbor.errors import SettingError
from haarbor.pruning import (
    DamageCurves,
    ScoreCurve,
    calibration_pass,
    compensate,
    compensated,
    damage_curves,
    pruning_scores,
    recommendation,
    removal,
    removed_heads,
    score_controls,
)
from haarbor.pruning._ablation import spearman_brown
from haarbor.pruning._metrics import METRICS, Measurement, measure
from tests.pruning.small_networks import batches, network

CALIBRATION = batches("llama", 4, seed=11, size=1)
EVALUATION = batches("llama", 4, seed=12, size=1)
LOSS = METRICS["loss"]


@pytest.fixture(scope="module")
def found():
    return calibration_pass(network("llama"), CALIBRATION, parts={"gradients"})


@pytest.mark.parametrize("replacement", ["zero", "mean", "refit"])
def test_curves_are_ablations_of_the_lowest_scores(found, replacement):
    model = network("llama")
    curves = damage_curves(
        model, found, EVALUATION, ["gradient", "norm"], shares=[0.25, 0.5], replacement=replacement
    )
    removed = removal(pruning_scores(found, ["norm"])["norm"], found.heads, 0.5)
    if replacement == "refit":
        around = compensated(model, found.heads, compensate(model, found.heads, removed, CALIBRATION))
    else:
        means = found.means if replacement == "mean" else None
        around = removed_heads(model, found.heads, removed, means=means)
    with around:
        expected = measure(model, EVALUATION, LOSS)
    whole = measure(model, EVALUATION, LOSS)
    assert curves.value("norm")[1] == pytest.approx(expected.value, rel=1e-6)
    np.testing.assert_allclose(curves.curves["norm"].damage[0, 1], expected.each - whole.each, atol=1e-6)
    np.testing.assert_array_equal(curves.curves["norm"].removed[0, 1], removed)


def test_chance_has_a_run_for_every_seed(found):
    curves = damage_curves(network("llama"), found, EVALUATION, ["random"], shares=[0.3], n_seeds=6)
    assert curves.curves["random"].damage.shape == (6, 1, 4)
    assert np.unique(curves.curves["random"].removed[:, 0], axis=0).shape[0] > 3


def test_errors_come_from_batches_and_from_seeds():
    damage = np.array([[[1.0, 3.0]], [[3.0, 5.0]]])
    curves = made_curves({"random": damage})
    assert curves.damage("random").tolist() == [3.0]
    # Over batches: means 2 and 4, variance 2 / 2; over seeds: means 2 and 4, variance 2 / 2.
    assert curves.standard_error("random").tolist() == [2**0.5]
    assert made_curves({"norm": damage[:1]}).standard_error("norm").tolist() == [1.0]


def test_batches_weigh_by_their_counts():
    curves = made_curves({"norm": np.array([[[1.0, 3.0]]])}, counts=[3.0, 1.0])
    assert curves.damage("norm").tolist() == [1.5]
    assert curves.damage("norm", slice(1, None)).tolist() == [3.0]


def made_curves(damages, counts=None, higher=False):
    n_batches = next(iter(damages.values())).shape[2]
    counts = np.ones(n_batches) if counts is None else np.array(counts)
    n_shares = next(iter(damages.values())).shape[1]
    return DamageCurves(
        shares=np.arange(1, n_shares + 1) / 10,
        curves={
            name: ScoreCurve(name=name, damage=damage, removed=np.zeros((*damage.shape[:2], 5), bool))
            for name, damage in damages.items()
        },
        baseline=Measurement(totals=2.0 * counts, counts=counts),
        metric="loss",
        higher_is_better=higher,
        within="network",
        replacement="zero",
    )


def test_a_metric_that_should_be_high_falls_with_damage():
    assert made_curves({"norm": np.full((1, 1, 2), 0.5)}, higher=True).value("norm").tolist() == [1.5]
    assert made_curves({"norm": np.full((1, 1, 2), 0.5)}).value("norm").tolist() == [2.5]


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


def test_reliability_is_that_of_the_halves(rng):
    level = np.linspace(0, 1, 6)[None, :, None]
    steady = made_curves({"norm": level + np.zeros((1, 6, 4))})
    assert steady.reliability == pytest.approx(1.0)
    noisy = made_curves({"norm": rng.normal(size=(1, 6, 4))})
    assert noisy.reliability < 0.9


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


def test_reliability_of_many_damages_that_contradict_each_other_is_not_defined():
    levels = np.arange(5.0)
    damage = np.stack([levels, -levels], axis=1)[None]
    assert np.isnan(made_curves({"norm": damage}).reliability)


def test_controls_vary_ranking_and_calibration(found):
    model = network("llama")
    (entry,) = score_controls(
        model, found, CALIBRATION, EVALUATION, ["norm", "random"], share=0.5, metric=LOSS, replacement="zero"
    )
    assert entry.name == "norm"
    within = removal(pruning_scores(found, ["norm"])["norm"], found.heads, 0.5, within="layer")
    with removed_heads(model, found.heads, within):
        expected = measure(model, EVALUATION, LOSS).value
    assert entry.within_layer == pytest.approx(expected - measure(model, EVALUATION, LOSS).value, abs=1e-6)
    halves = [
        pruning_scores(calibration_pass(model, CALIBRATION[begin::2]), ["norm"])["norm"] for begin in (0, 1)
    ]
    from scipy.stats import spearmanr

    assert entry.agreement == pytest.approx(spearmanr(*halves).statistic)


@pytest.mark.parametrize("within", ["layer", "uniform"])
def test_half_calibrations_choose_heads_where_the_score_does(found, within):
    model = network("llama")
    (entry,) = score_controls(
        model, found, CALIBRATION, EVALUATION, ["gradient"], share=0.5, metric=LOSS, within=within,
        replacement="zero",
    )  # fmt: skip
    whole = measure(model, EVALUATION, LOSS).value
    for begin in (0, 1):
        half = calibration_pass(model, CALIBRATION[begin::2], parts={"gradients"}, heads=found.heads)
        scores = pruning_scores(half, ["gradient"])["gradient"]
        with removed_heads(model, found.heads, removal(scores, found.heads, 0.5, within=within)):
            expected = measure(model, EVALUATION, LOSS).value - whole
        assert entry.half_calibrations[begin] == pytest.approx(expected, abs=1e-6)
    # The heads over the whole network are others, or this test would show nothing.
    assert not np.array_equal(
        removal(scores, found.heads, 0.5), removal(scores, found.heads, 0.5, within=within)
    )


def test_shares_of_the_same_number_are_measured_once_and_found_by_either(found):
    curves = damage_curves(
        network("llama"), found, EVALUATION, ["norm"], shares=[0.4, 0.25, 0.34, 0.3], replacement="zero"
    )
    assert curves.n_removed.tolist() == [3, 4, 5]
    assert curves.asked == ((0.25,), (0.34, 0.3), (0.4,))
    assert [curves.place(share) for share in (0.25, 0.3, 0.34, 4 / 12, 5 / 12)] == [0, 1, 1, 1, 2]
    with pytest.raises(SettingError, match="the share must be one of"):
        curves.place(0.31)
