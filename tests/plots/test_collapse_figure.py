import numpy as np
import pytest

from haarbor.collapse import FIGURES, RankCollapse
from haarbor.errors import SettingError
from haarbor.plots import collapse_figure
from tests.collapse.made_up import made_bound, made_collapse


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


def test_the_bound_stands_beside_attention_alone_or_is_said_to_be_missing():
    results = {"trained": made_collapse(), "at initialisation": made_collapse()}
    bounds = {"trained": made_bound(), "at initialisation": made_bound(reason="it is masked")}
    figure = collapse_figure(results, bounds=bounds)
    one, two = figure.axes
    (line,) = [line for line in one.get_lines() if line.get_label() == "bound for attention alone"]
    expected = bounds["trained"].relative(results["trained"])
    np.testing.assert_allclose(np.log10(line.get_ydata()[:2]), expected[:2])
    assert not [line for line in two.get_lines() if str(line.get_label()).startswith("bound")]
    assert two.get_title(loc="right") == "no bound: the theorem does not speak of it"
    assert figure.legends[0].get_texts()[-1].get_text() == "bound for attention alone"


def test_there_must_be_a_result():
    with pytest.raises(SettingError, match="there must be a result to draw"):
        collapse_figure({})
