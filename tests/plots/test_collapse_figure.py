import numpy as np
import pytest

pytest.importorskip("torch")

from haarbor.collapse import FIGURES, RankCollapse
from haarbor.errors import SettingError
from haarbor.plots import collapse_figure


def made(composite):
    values = np.asarray(composite, dtype=float)
    return RankCollapse(
        variants=("as it is", "no skips")[: values.shape[0]],
        figures=dict.fromkeys(FIGURES, values),
        n_tokens=np.full(values.shape[2], 9),
        floor=1e-6,
    )


def test_every_variant_has_its_line_of_medians_and_every_result_its_panel():
    values = [[[0.9, 0.8, 0.7], [0.5, 0.3, 0.4]], [[0.9, 0.8, 0.7], [1e-3, 0.0, 1e-5]]]
    figure = collapse_figure({"trained": made(values), "at initialisation": made(values)}, title="Of $x")
    one, two = figure.axes
    assert [axes.get_title(loc="left") for axes in (one, two)] == ["trained", "at initialisation"]
    lines = {line.get_label(): line.get_ydata() for line in one.get_lines()}
    np.testing.assert_allclose(lines["as it is"], [0.8, 0.4])
    np.testing.assert_allclose(lines["no skips"], [0.8, 1e-5])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["as it is", "no skips"]
    assert one.get_yscale() == "log"


def test_zero_is_drawn_below_the_floor_and_what_is_lost_is_left_out():
    figure = collapse_figure({"trained": made([[[0.9], [0.0], [np.nan]]])})
    drawn = figure.axes[0].get_lines()[0].get_ydata()
    assert 0 < drawn[1] < 1e-6
    assert np.isnan(drawn[2])


def test_there_must_be_a_result():
    with pytest.raises(SettingError, match="there must be a result to draw"):
        collapse_figure({})
