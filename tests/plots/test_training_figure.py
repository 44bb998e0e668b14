import numpy as np
import pytest

from haarbor.compare import TrainingFilm
from haarbor.errors import SettingError
from haarbor.plots import training_figure


def film(residuals=None, types=()):
    return TrainingFilm(
        names=("a", "b", "c"),
        steps=np.array([0.0, 1.0, 10.0]),
        n_layers=2,
        heads_per_layer=2,
        batches=(0,),
        entropies=np.arange(12.0).reshape(3, 4),
        network_entropies=np.array([1.0, 2.0, 3.0]),
        sink_shares=np.full((3, 4), 0.1),
        distances_to_last=np.array([[1.0, 3.0, 0.0, 2.0], [0.5] * 4, [0.0] * 4]),
        tree_correlations=np.array([0.1, 0.5, 1.0]),
        structure=np.array([0.2, 0.3, 0.4]),
        residuals=residuals,
        equal_weights=(),
        types=types,
    )


def test_layers_have_their_lines_and_heads_theirs():
    figure = training_figure(film(), title="Of $x")
    distance, entropy, sinks, trees = figure.axes[:4]
    np.testing.assert_allclose(distance.get_lines()[0].get_ydata(), [2.0, 0.5, 0.0])
    np.testing.assert_allclose(entropy.get_lines()[1].get_ydata(), [2.5, 6.5, 10.5])
    assert len(sinks.get_lines()) == 4 + 1
    np.testing.assert_allclose(trees.get_lines()[0].get_ydata(), [0.1, 0.5, 1.0])
    assert all(panel.get_xscale() == "symlog" for panel in (distance, entropy, sinks, trees))
    assert distance.get_xlim()[0] < 0 < 10 < distance.get_xlim()[1]


def test_residuals_have_a_panel_where_they_are_known():
    figure = training_figure(film(np.array([[1.0, 0.9, 0.8]] * 3)))
    assert figure.axes[2].get_title(loc="left") == "residual of the tokens"
    np.testing.assert_allclose(figure.axes[2].get_lines()[1].get_ydata(), [0.8] * 3)
    assert len(figure.axes) == 6 + 1


def test_types_have_a_bar_per_checkpoint():
    types = (("broad",) * 4, ("broad", "broad", "diagonal", "diagonal"), ("diagonal",) * 4)
    figure = training_figure(film(types=types))
    (panel,) = [axes for axes in figure.axes if axes.get_title(loc="left") == "types of the heads"]
    heights = {box.get_label(): [bar.get_height() for bar in box] for box in panel.containers}
    assert heights == {"diagonal": [0, 2, 4], "broad": [4, 2, 0]}
    assert [label.get_text() for label in panel.get_xticklabels()] == ["0", "1", "10"]


def test_what_is_no_film_is_refused():
    with pytest.raises(SettingError, match="film must be"):
        training_figure("film")
