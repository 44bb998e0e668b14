"""Coefficients, entropies and their stability."""

import numpy as np
import pytest

import haarbor as hb
from haarbor.plots import coefficients_figure, entropy_figure, entropy_map_figure, stability_figure
from tests.plots.figure_contents import artist, drawn_texts


@pytest.fixture(scope="module")
def batches(causal):
    tensors = [hb.datasets.synthetic_attention(20, 3, 4, batch=batch) for batch in range(4)]
    return [hb.head_entropy(X, causal.organization.trees, k=90) for X in tensors]


def test_stems_are_the_sorted_coefficients_without_the_constant(causal):
    trees = causal.organization.trees
    figure = coefficients_figure(causal.X, trees, heads=[7, 2], k=50, head_layers=causal.head_layers)
    for panel, head in zip(figure.axes[:2], (7, 2), strict=True):
        matrix_trees = {axis: trees[axis] for axis in ("query", "key")}
        expected = hb.sorted_coefficients(causal.X[:, :, head], matrix_trees, k=50)
        ends = np.array([line[1] for line in artist(panel, "stems").get_segments()])
        np.testing.assert_allclose(ends[:, 1], expected[1:])
        np.testing.assert_array_equal(ends[:, 0], np.arange(2, 51))
        assert f"constant coefficient {expected[0]:.4g}" in drawn_texts(figure)
        low, high = panel.get_ylim()
        assert low < expected[1:].min()
        assert high > expected[1:].max()
    assert figure.axes[0].get_title("left") == "head 1.3"


def test_support_falls_from_one_and_its_halvings_are_marked():
    halves = hb.PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    figure = coefficients_figure(np.eye(4), {"query": halves, "key": halves}, k=16)
    shares = artist(figure.axes[-1], "support").get_ydata()
    np.testing.assert_allclose(shares, [1] * 4 + [1 / 2] * 8 + [1 / 4] * 4)
    marks = sorted(
        float(line.get_xdata()[0]) for line in figure.axes[0].lines if line.get_linestyle() == "--"
    )
    assert marks == [12.5]  # the first function with a support below one half


def test_coefficients_of_a_matrix_and_of_one_item_are_figures(tmp_path):
    leaf = hb.PartitionTree([[0]])
    figure = coefficients_figure([[2.0]], {"query": leaf, "key": leaf})
    figure.savefig(tmp_path / "one.png", dpi=40)
    assert "constant coefficient 2" in drawn_texts(figure)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"heads": []}, hb.SettingError, "heads must be whole numbers, at least one"),
        ({"heads": [12]}, hb.SettingError, r"heads must lie in 0\.\.11; found \[12\]"),
        ({"heads": [0.5]}, hb.SettingError, "heads must be whole numbers"),
        ({"k": 0}, hb.SettingError, "k must be a whole number from 1"),
        ({"trees": {}}, hb.TreeError, r"missing \['query', 'key'\]"),
    ],
)
def test_wrong_options_of_coefficients_are_refused(causal, options, error, message):
    arguments = {"X": causal.X, "trees": causal.organization.trees, **options}
    with pytest.raises(error, match=message):
        coefficients_figure(**arguments)


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


@pytest.mark.parametrize("measure", ["normalised", "mean_removed"])
def test_tie_interval_is_scaled_like_the_measure(batches, causal, measure):
    from haarbor.plots._entropy_values import entropy_values

    found = entropy_values(batches[0], measure)
    np.testing.assert_array_equal(found.values[0], getattr(batches[0], measure))
    assert (found.least <= found.values + 1e-12).all()
    assert (found.values <= found.most + 1e-12).all()
    share = (found.most - found.least)[0] / np.ptp(batches[0].tie_interval, axis=1)
    constant = batches[0].constant if measure == "mean_removed" else 0.0
    np.testing.assert_allclose(share, 1 / np.sqrt(batches[0].norm ** 2 - constant**2))


def test_layers_are_numbered_over_the_line(batches, causal):
    texts = drawn_texts(entropy_figure(batches[0], head_layers=causal.head_layers))
    assert "layer" in texts
    assert "layer" not in drawn_texts(entropy_figure(batches[0]))


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


def test_batches_that_cannot_be_compared_are_refused(batches, causal):
    trees = causal.organization.trees
    fewer_heads = hb.head_entropy(causal.X[:, :, :3], trees, k=90)
    with pytest.raises(hb.ShapeError, match=r"same heads; found \[3, 12\] heads"):
        entropy_figure([batches[0], fewer_heads])
    with pytest.raises(hb.SettingError, match="same k and p"):
        entropy_figure([batches[0], hb.head_entropy(causal.X, trees, k=7)])
    with pytest.raises(hb.SettingError, match="at least one batch"):
        entropy_map_figure([])
    with pytest.raises(hb.SettingError, match="measure must be one of 'raw'"):
        entropy_figure(batches, measure="mean")


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
