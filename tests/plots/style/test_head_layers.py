import numpy as np
import pytest
from matplotlib.figure import Figure

from haarbor.plots.style import add_layer_bar, add_layer_shading, checked_head_layers


def test_layers_may_be_unequal_and_have_gaps_between_their_numbers():
    layers = checked_head_layers([0, 0, 3, 3, 3, 7], 6)
    assert layers.names == ("0.0", "0.1", "3.0", "3.1", "3.2", "7.0")
    assert (layers.n_layers, layers.numbers.tolist()) == (3, [0, 3, 7])
    assert layers.ranks.tolist() == [0, 0, 1, 1, 1, 2]
    assert list(layers.runs()) == [(0, 0, 2), (3, 2, 5), (7, 5, 6)]
    assert len({tuple(colour) for colour in layers.head_colours}) == 3


def test_every_other_layer_is_shaded_and_all_are_numbered():
    axes = Figure().subplots()
    add_layer_shading(axes, checked_head_layers([0, 0, 1, 1, 2], 5))
    spans = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches]
    np.testing.assert_allclose([(span.x0, span.x1) for span in spans], [(-0.5, 1.5), (3.5, 4.5)])
    assert [text.get_text() for text in axes.texts] == ["0", "1", "2", "layer"]


@pytest.mark.parametrize("given", [None, [4, 4]])
def test_a_single_layer_is_neither_shaded_nor_given_a_bar(given):
    figure = Figure()
    axes = figure.subplots()
    layers = checked_head_layers(given, 2)
    add_layer_shading(axes, layers)
    assert add_layer_bar(figure, axes, layers) is None
    assert not axes.patches
    assert figure.axes == [axes]
