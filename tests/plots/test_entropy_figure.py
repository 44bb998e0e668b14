import numpy as np

from haarbor.plots import entropy_figure
from tests.plots.figure_contents import artist, drawn_texts


def test_line_is_the_mean_over_batches_within_its_tie_interval(batches, causal):
    figure = entropy_figure(batches, head_layers=causal.head_layers)
    panel = figure.axes[0]
    np.testing.assert_allclose(artist(panel, "mean").get_ydata(), np.mean([b.raw for b in batches], axis=0))
    assert sum(line.get_gid() == "batch" for line in panel.lines) == 4
    (band,) = panel.collections
    corners = band.get_paths()[0].vertices
    bounds = np.mean([b.tie_interval for b in batches], axis=0)
    for head in range(12):
        heights = corners[corners[:, 0] == head, 1]
        np.testing.assert_allclose([heights.min(), heights.max()], bounds[head])


def test_layers_are_numbered_over_the_line(batches, causal):
    texts = drawn_texts(entropy_figure(batches[0], head_layers=causal.head_layers))
    assert "layer" in texts
    assert "layer" not in drawn_texts(entropy_figure(batches[0]))
