import numpy as np
import pytest

import haarbor as hb
from haarbor.plots import diffusion_map_figure
from haarbor.plots.style._head_layers import checked_head_layers
from tests.plots.figure_contents import artist, drawn_texts


def organised_heads(n_heads):
    X = hb.datasets.synthetic_attention(12, 1, n_heads)
    return hb.organize(X)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_points_are_the_embedding_coloured_by_layer(causal, dimensions):
    org = causal.organization
    figure = diffusion_map_figure(org, dimensions=dimensions, head_layers=causal.head_layers)
    items = artist(figure.axes[0], "items")
    drawn = items.get_offsets() if dimensions == 2 else np.column_stack(items._offsets3d)
    np.testing.assert_array_equal(drawn, org.embedding("head", dimensions))
    expected = checked_head_layers(causal.head_layers, 12).head_colours
    # As given: the getter of a 3-D scatter sorts by depth.
    np.testing.assert_array_equal(items._facecolors, expected)


def test_colour_bar_has_one_step_a_layer(causal):
    figure = diffusion_map_figure(causal.organization, dimensions=2, head_layers=causal.head_layers)
    assert [text.get_text() for text in figure.axes[1].get_yticklabels()] == ["0", "1", "2"]


def test_time_is_passed_on(causal):
    figure = diffusion_map_figure(causal.organization, dimensions=2, time=4.0)
    drawn = artist(figure.axes[0], "items").get_offsets()
    np.testing.assert_array_equal(drawn, causal.organization.embedding("head", 2, 4.0))


def test_outliers_are_those_farthest_from_their_neighbours(causal):
    org = causal.organization
    figure = diffusion_map_figure(org, dimensions=2, n_outliers=3, head_layers=causal.head_layers)
    points = org.embedding("head", 2)
    gaps = [min(np.linalg.norm(p - q) for j, q in enumerate(points) if j != i) for i, p in enumerate(points)]
    expected = {f"{h // 4}.{h % 4}" for h in np.argsort(gaps)[::-1][:3]}
    assert {text.get_text() for text in figure.axes[0].texts} == expected


@pytest.mark.parametrize(("n_heads", "n_drawn"), [(2, 1), (3, 2), (4, 3)])
def test_few_heads_are_drawn_in_the_dimensions_they_have(n_heads, n_drawn, tmp_path):
    figure = diffusion_map_figure(organised_heads(n_heads), n_outliers=9)
    figure.savefig(tmp_path / "few.png", dpi=40)
    names = [f"diffusion coordinate {j}" in drawn_texts(figure) for j in (1, 2, 3)]
    assert names == [True, n_drawn > 1, n_drawn > 2]


def test_a_single_head_has_no_diffusion_map(one_head):
    with pytest.raises(hb.DataError, match="needs at least two items; the axis 'head' has one"):
        diffusion_map_figure(one_head.organization)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimensions": 4}, "dimensions must be 2 or 3; found 4"),
        ({"n_outliers": -1}, "n_outliers must be a whole number from 0"),
        ({"axis": "key", "head_layers": [0] * 20}, "head_layers belong to the axis 'head'"),
    ],
)
def test_wrong_options_of_a_map_are_refused(causal, options, message):
    with pytest.raises(hb.SettingError, match=message):
        diffusion_map_figure(causal.organization, **options)
