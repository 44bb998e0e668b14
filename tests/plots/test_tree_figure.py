from itertools import pairwise

import numpy as np
import pytest

import haarbor as hb
from haarbor.plots import tree_figure
from haarbor.plots.style._head_layers import checked_head_layers
from tests.plots.figure_contents import artist, drawn_texts

TREE = hb.PartitionTree([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 2], [0, 1, 2, 3]])


def lines_of(figure):
    return {
        tuple(map(float, np.asarray(line).ravel()))
        for line in artist(figure.axes[0], "folders").get_segments()
    }


def test_hand_drawn_tree():
    expected = {
        (1.25, 0, 3, 0),  # the root splits into the first three and the last
        (3, 0, 3, 4),  # which is an only child all the way down
        (1.25, 0, 1.25, 2),  # the three stay together for two levels
        (0.5, 2, 2, 2), (2, 2, 2, 4),
        (0.5, 2, 0.5, 3), (0, 3, 1, 3), (0, 3, 0, 4), (1, 3, 1, 4),
    }  # fmt: skip
    assert lines_of(tree_figure(TREE)) == expected


def test_root_is_on_top():
    low, high = tree_figure(TREE).axes[0].get_ylim()
    assert low > high


def test_leaves_stand_in_leaf_order_with_names_and_colours_of_their_heads(causal):
    org, layers = causal.organization, checked_head_layers(causal.head_layers, 12)
    figure = tree_figure(org.trees["head"], order=org.order("head"), head_layers=causal.head_layers)
    names = [text.get_text() for text in figure.axes[0].texts]
    assert names == [f"{h // 4}.{h % 4}" for h in org.order("head")]
    leaves = artist(figure.axes[0], "leaves")
    np.testing.assert_array_equal(leaves.get_offsets()[:, 0], np.arange(12))
    np.testing.assert_array_equal(leaves.get_facecolors(), layers.head_colours[org.order("head")])


def test_every_leaf_hangs_from_the_lines(causal):
    org = causal.organization
    tree = org.trees["head"]
    lines = lines_of(tree_figure(tree, order=org.order("head")))
    ends = {line[2] for line in lines if line[3] == tree.n_levels - 1 and line[0] == line[2]}
    assert ends == set(range(12))


def test_folders_of_one_layer_have_its_colour_and_mixed_ones_are_grey():
    figure = tree_figure(TREE, head_layers=[0, 0, 1, 1])
    folders = artist(figure.axes[0], "folders")
    colours = {
        tuple(map(float, line.ravel())): colour
        for line, colour in zip(folders.get_segments(), folders.get_colors(), strict=True)
    }
    first = checked_head_layers([0, 0, 1, 1], 4).colours(0)
    np.testing.assert_allclose(colours[(0.0, 3.0, 1.0, 3.0)], first)
    assert np.ptp(colours[(1.25, 0.0, 1.25, 2.0)][:3]) < 0.05


@pytest.mark.parametrize(("n_leaves", "shown"), [(16, True), (144, True), (600, False)])
def test_leaf_names_are_written_only_where_they_fit(n_leaves, shown):
    tree = hb.PartitionTree([np.zeros(n_leaves, int), np.arange(n_leaves)])
    figure = tree_figure(tree)
    assert len(figure.axes[0].texts) == (n_leaves if shown else 0)


@pytest.mark.slow
def test_names_of_144_leaves_do_not_overlap():
    tree = hb.PartitionTree([np.zeros(144, int), np.arange(144) // 12, np.arange(144)])
    figure = tree_figure(tree, head_layers=np.arange(144) // 12)
    figure.draw_without_rendering()
    boxes = sorted(
        # The box of the words alone, without the line that leads to them.
        (super(type(text), text).get_window_extent() for text in figure.axes[0].texts),
        key=lambda box: (round(box.y1), box.x0),
    )
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))


def test_one_leaf_is_a_figure(tmp_path):
    figure = tree_figure(hb.PartitionTree([[0]]))
    figure.savefig(tmp_path / "leaf.png", dpi=40)
    assert "0" in drawn_texts(figure)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"order": [0, 2, 1, 3]}, hb.TreeError, r"keep every folder together; the folder of items \[0, 1\]"),
        ({"order": [0, 1, 2, 2]}, hb.ShapeError, "every item from 0 to 3 once"),
        ({"order": [0, 1]}, hb.ShapeError, "every item from 0 to 3 once"),
        ({"head_layers": [0, 0]}, hb.ShapeError, r"one layer per head, shape \(4,\); found \(2,\)"),
        ({"head_layers": [0, 0, -1, 0]}, hb.ShapeError, "whole numbers from 0"),
        ({"head_layers": [0.5, 0, 1, 0]}, hb.ShapeError, "whole numbers from 0; found dtype float64"),
        ({"labels": ["a", "b"]}, hb.ShapeError, "labels must hold one text per item, 4; found 2"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        tree_figure(TREE, **options)


def test_chains_of_a_deep_tree_are_one_step_with_a_count():
    rows = [np.minimum(np.arange(45), level) for level in range(44)]
    figure = tree_figure(hb.PartitionTree([*rows, np.arange(45)]))
    panel = figure.axes[0]
    assert [t.get_text() for t in panel.texts if "steps" in t.get_text()] == ["43 steps"]
    assert panel.get_ylabel() == "level, chains as one"
    assert panel.get_ylim()[0] == pytest.approx(2.12)
    assert figure.get_size_inches()[1] < 3
