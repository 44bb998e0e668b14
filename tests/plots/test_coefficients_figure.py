import numpy as np
import pytest

import haarbor as hb
from haarbor.plots import coefficients_figure
from tests.plots.figure_contents import artist, drawn_texts


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
