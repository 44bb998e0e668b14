import numpy as np
import pytest

from haarbor.diagnostics import ScoreRelations
from haarbor.errors import SettingError
from haarbor.plots import relations_figure


def made(network, diagnostics, values):
    table = np.asarray(values, dtype=float)[None]
    return ScoreRelations(
        network=network,
        haar=("entropy",),
        diagnostics=diagnostics,
        correlations=table,
        explained={"entropy": 0.5},
        beyond=-table,
        n_heads=5,
    )


def test_every_network_has_its_column_and_what_it_lacks_is_empty():
    figure = relations_figure([made("a$", ("x", "y"), [0.5, -0.04]), made("b", ("y", "z"), [np.nan, 1])])
    left, right = figure.axes[:2]
    drawn = left.images[0].get_array()
    np.testing.assert_array_equal(drawn.filled(9), [[0.5, 9], [-0.04, 9], [9, 1]])
    np.testing.assert_array_equal(right.images[0].get_array().filled(9), [[-0.5, 9], [0.04, 9], [9, -1]])
    assert [text.get_text() for text in left.texts] == ["0.5", "0.0", "1.0"]
    assert [label.get_text() for label in left.get_yticklabels()] == ["x", "y", "z"]


def test_there_must_be_a_network_with_the_score():
    with pytest.raises(SettingError, match="there must be a network"):
        relations_figure([])
    with pytest.raises(SettingError, match="score"):
        relations_figure([made("a", ("x",), [0.5])], score="fine-share")
