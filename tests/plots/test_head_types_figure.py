import numpy as np
import pytest

from haarbor.diagnostics import TYPES, HeadType
from haarbor.errors import ShapeError
from haarbor.plots import head_types_figure
from haarbor.plots._head_types_figure import TYPE_COLOURS


def of(*names):
    return [HeadType(name=name, figure="confidence", value=0.5) for name in names]


def test_every_head_has_the_place_of_its_layer_and_the_number_of_its_type():
    figure = head_types_figure(
        of("broad", "mixed", "mixed", "induction"), head_layers=[0, 0, 1, 1], title="Of $x"
    )
    (panel,) = figure.axes
    numbers = panel.collections[0].get_array().reshape(2, 2)
    names = list(TYPES)
    np.testing.assert_array_equal(
        numbers, [[names.index("broad"), names.index("mixed")], [names.index("mixed"), 0]]
    )
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "induction: 1",
        "broad: 1",
        "mixed: 2",
    ]
    assert panel.get_xlabel() == "layer"


def test_heads_without_layers_and_layers_of_different_sizes_are_drawn():
    assert head_types_figure(of("broad", "mixed")).axes[0].get_xlabel() == ""
    uneven = head_types_figure(of("broad", "mixed", "local"), head_layers=[0, 1, 1])
    assert uneven.axes[0].collections[0].get_array().mask.sum() == 1


def test_there_is_a_colour_for_every_type():
    assert len(TYPE_COLOURS) == len(TYPES)


def test_there_must_be_heads():
    with pytest.raises(ShapeError, match="there must be a head"):
        head_types_figure([])
