import numpy as np
import pytest

import haarbor as hb
from haarbor.plots import haar_basis_figure

TREE = hb.PartitionTree([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 2, 3]])


def test_basis_of_a_hand_made_tree():
    root = np.sqrt(3) / 2
    figure = haar_basis_figure(TREE, scale="basis")
    image = figure.axes[0].images[0].get_array()
    np.testing.assert_allclose(image.filled(0)[:2], [[0.5] * 4, [root / 3] * 3 + [-root]])
    assert image.mask.sum(axis=1).tolist() == [0, 0, 1, 2]


def test_basis_columns_follow_the_order_and_rows_reach_one(causal):
    org = causal.organization
    tree, order = org.trees["head"], org.order("head")
    figure = haar_basis_figure(tree, order=order, head_layers=causal.head_layers)
    image = figure.axes[0].images[0]
    drawn = image.get_array().filled(0)
    basis = hb.haar_basis(tree)[:, order]
    np.testing.assert_allclose(drawn, basis / np.abs(basis).max(axis=1, keepdims=True))
    assert image.norm.vmin == -image.norm.vmax
    np.testing.assert_array_equal(
        figure.axes[0].child_axes[0].images[0].get_array()[0], causal.head_layers[order]
    )


def test_positive_and_negative_values_near_zero_differ_in_colour():
    image = haar_basis_figure(TREE).axes[0].images[0]
    below, above = image.cmap(image.norm([-0.01, 0.01]))
    assert below[2] > above[2] + 0.2  # blue against orange


def test_wrong_options_of_a_basis_are_refused():
    with pytest.raises(hb.SettingError, match="scale must be 'function' or 'basis'"):
        haar_basis_figure(TREE, scale="rows")
    with pytest.raises(hb.TreeError, match="keep every folder together"):
        haar_basis_figure(TREE, order=[0, 3, 1, 2])
