import numpy as np
import pytest

import haarbor as hb
from haarbor.plots import stability_figure
from tests.plots.figure_contents import drawn_texts


def test_counts_go_up_for_the_top_and_down_for_the_bottom(batches, causal):
    stability = hb.ranking_stability([b.raw for b in batches], fraction=0.25)
    figure = stability_figure(stability, head_layers=causal.head_layers)
    top, bottom = figure.axes[0].containers
    assert [bar.get_height() for bar in top] == stability.top_counts.tolist()
    assert [bar.get_height() for bar in bottom] == (-stability.bottom_counts).tolist()
    np.testing.assert_array_equal(figure.axes[1].images[0].get_array().filled(), stability.kendall_tau)
    assert "top 25 %" in drawn_texts(figure)
    assert all(text.get_text().isdigit() for text in figure.axes[0].get_yticklabels())


def test_stability_of_one_batch_of_one_head_is_a_figure(tmp_path):
    figure = stability_figure(hb.ranking_stability([[1.0]]))
    figure.savefig(tmp_path / "one.png", dpi=40)
    assert figure.axes[1].images[0].get_array().mask.all()


def test_other_objects_are_not_stability():
    with pytest.raises(hb.SettingError, match=r"come from haarbor\.ranking_stability; found dict"):
        stability_figure({})
