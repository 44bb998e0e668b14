import numpy as np

from haarbor.plots import entropy_map_figure


def test_map_has_layers_as_rows_and_writes_every_value(batches, causal):
    figure = entropy_map_figure(batches, head_layers=causal.head_layers)
    mean = np.mean([b.raw for b in batches], axis=0)
    np.testing.assert_allclose(figure.axes[0].images[0].get_array().filled(), mean.reshape(3, 4))
    written = {float(text.get_text()) for text in figure.axes[0].texts}
    assert len(figure.axes[0].texts) == 12
    assert written == set(mean.round(2 if mean.max() < 10 else 1))


def test_map_leaves_missing_heads_empty(batches):
    layers = [0] * 5 + [2] * 7
    figure = entropy_map_figure(batches[0], head_layers=layers)
    image = figure.axes[0].images[0].get_array()
    assert image.shape == (2, 7)
    assert image.mask.tolist() == [[False] * 5 + [True] * 2, [False] * 7]
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["0", "2"]


def test_written_values_can_be_told_from_their_cells(batches, causal):
    figure = entropy_map_figure(batches[0], head_layers=causal.head_layers)
    image = figure.axes[0].images[0]
    for text in figure.axes[0].texts:
        column, row = (int(place) for place in text.get_position())
        cell = np.array(image.cmap(image.norm(image.get_array()[row, column]))[:3])
        ink = 1.0 if text.get_color() == "white" else 0.067
        assert abs(cell @ [0.299, 0.587, 0.114] - ink) > 0.4
