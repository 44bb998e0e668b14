from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from haarbor.errors import SettingError
from haarbor.plots import damage_figure
from tests.pruning.builders import made_curves


def test_every_score_has_a_line_with_its_values_and_errors():
    damage = np.array([[[0.1, 0.3], [0.5, 0.9]]])
    curves = made_curves({"norm": damage, "random": np.concatenate([damage, damage + 1, damage + 2])})
    figure = damage_figure(curves, share=0.2, title="Heads $1")
    (axes,) = figure.axes
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["norm", "random (3 seeds)"]
    lines = {bar.get_label(): bar for bar in axes.containers}
    np.testing.assert_allclose(lines["norm"][0].get_ydata(), [2.2, 2.7])
    np.testing.assert_allclose(lines["norm"][0].get_xdata(), [0.1, 0.2], atol=0.002)
    low, high = lines["norm"][2][0].get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(curves.standard_error("norm")[0])
    assert "lower is better" in axes.get_ylabel()
    assert "replaced by zero" in axes.get_title(loc="left")


def test_a_single_share_is_drawn_with_room_around_it():
    (axes,) = damage_figure(made_curves({"norm": np.ones((1, 1, 3))})).axes
    assert axes.get_xlim() == pytest.approx((0.07, 0.13))


def test_there_must_be_a_curve():
    curves = made_curves({"norm": np.ones((1, 1, 3))})
    curves.curves.clear()
    with pytest.raises(SettingError, match="there must be a curve"):
        damage_figure(curves)


def test_an_unknown_replacement_is_drawn_letter_by_letter():
    curves = replace(made_curves({"norm": np.ones((1, 1, 3))}), replacement="$\\frac{\x1b\ud800")
    (axes,) = damage_figure(curves).axes
    assert axes.get_title(loc="left") == r"\$\frac{□□"


def test_of_many_scores_those_of_least_damage_are_drawn():
    damages = {f"score {number}": np.full((1, 2, 3), float(number)) for number in range(14)}
    (axes,) = damage_figure(made_curves(damages), share=0.2).axes
    assert axes.get_legend_handles_labels()[1] == [f"score {number}" for number in range(10)]
    assert axes.get_title(loc="left").endswith("; 10 of 14 curves")


def test_the_recommended_score_is_drawn_and_named_whatever_its_damage():
    damages = {f"score {number}": np.full((1, 2, 3), float(number)) for number in range(14)}
    (axes,) = damage_figure(made_curves(damages), share=0.2, score="score 12").axes
    expected = [*(f"score {number}" for number in range(9)), "score 12 (recommended)"]
    assert axes.get_legend_handles_labels()[1] == expected
    with pytest.raises(SettingError, match="the recommended score must have a curve; found 'magic'"):
        damage_figure(made_curves(damages), score="magic")
