import numpy as np
import pytest

import haarbor as hb
from haarbor.plots import affinity_figure


def test_affinity_is_drawn_in_tree_order_with_its_layers(causal):
    org = causal.organization
    figure = affinity_figure(org, head_layers=causal.head_layers)
    order = org.order("head")
    panel = figure.axes[0]
    np.testing.assert_array_equal(panel.images[0].get_array(), org.affinities["head"][np.ix_(order, order)])
    (strip,) = panel.child_axes
    np.testing.assert_array_equal(strip.images[0].get_array()[:, 0], causal.head_layers[order])
    assert [t.get_text() for t in strip.get_yticklabels()] == [f"{h // 4}.{h % 4}" for h in order]


def test_affinity_of_tokens_has_no_layers(rectangular):
    figure = affinity_figure(rectangular.organization, "key")
    assert figure.axes[0].images[0].get_array().shape == (24, 24)
    assert not figure.axes[0].child_axes
    with pytest.raises(hb.SettingError, match="head_layers belong to the axis 'head'; found axis 'key'"):
        affinity_figure(rectangular.organization, "key", head_layers=np.zeros(24, int))
    with pytest.raises(hb.SettingError, match="axis must be one of"):
        affinity_figure(rectangular.organization, "layer")


def test_affinity_of_one_head_is_a_figure(one_head):
    assert affinity_figure(one_head.organization).axes[0].images[0].norm.vmax == 1.0
