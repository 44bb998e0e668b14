import numpy as np
import pytest
from matplotlib.colors import LogNorm

import haarbor as hb
from haarbor.plots import organized_matrix_figure
from tests.plots.figure_contents import drawn_texts


def shown(figure, panel):
    return figure.axes[panel].images[0].get_array()


def test_panels_show_the_head_before_and_after_rearranging(rectangular):
    X, org = rectangular.X, rectangular.organization
    figure = organized_matrix_figure(X, org, 5)
    np.testing.assert_array_equal(shown(figure, 0).filled(), X[:, :, 5])
    place = org.order("head").tolist().index(5)
    np.testing.assert_array_equal(shown(figure, 1).filled(), org.rearranged(X)[:, :, place])


def test_both_panels_have_one_colour_scale_and_named_axes(causal):
    figure = organized_matrix_figure(causal.X, causal.organization, 1)
    left, right = (figure.axes[i].images[0] for i in (0, 1))
    assert left.norm is right.norm
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("key", "query")
    assert figure.axes[1].get_xlabel() == "key (tree order)"


def test_zeros_of_a_causal_head_are_closed_with_and_without_mask(causal):
    with_mask = organized_matrix_figure(causal.X, causal.organization, 2, mask=causal.mask)
    without = organized_matrix_figure(causal.X, causal.organization, 2)
    np.testing.assert_array_equal(np.ma.getmaskarray(shown(with_mask, 0)), ~causal.mask)
    np.testing.assert_array_equal(np.ma.getmaskarray(shown(without, 0)), ~causal.mask)
    assert "masked" in drawn_texts(with_mask)
    assert "zero" in drawn_texts(without)


def test_masked_values_do_not_stretch_the_colours():
    X = np.random.default_rng(0).normal(size=(8, 8, 3))
    org = hb.organize(X)
    mask = np.tri(8, dtype=bool)
    figure = organized_matrix_figure(np.where(mask[..., None], X, 1e6), org, mask=mask, quantiles=(0, 1))
    assert figure.axes[0].images[0].norm.vmax == X[:, :, 0][mask].max()


def test_colour_limits_are_the_quantiles_of_valid_entries(causal):
    figure = organized_matrix_figure(causal.X, causal.organization, 0, quantiles=(0.1, 0.8))
    norm = figure.axes[0].images[0].norm
    expected = np.quantile(causal.X[:, :, 0][causal.mask], [0.1, 0.8])
    np.testing.assert_allclose([norm.vmin, norm.vmax], expected)


def test_log_scale_is_logarithmic_and_refuses_negative_entries(causal):
    figure = organized_matrix_figure(causal.X, causal.organization, scale="log")
    assert isinstance(figure.axes[0].images[0].norm, LogNorm)
    with pytest.raises(hb.DataError, match=r"logarithmic scale needs non-negative entries; found -"):
        organized_matrix_figure(np.log(causal.X + 1e-3), causal.organization, scale="log")


def test_a_head_of_zeros_is_drawn_and_not_refused(causal):
    X = causal.X.copy()
    X[:, :, 3] = 0
    figure = organized_matrix_figure(X, causal.organization, 3)
    assert not np.ma.getmaskarray(shown(figure, 0)).any()


def test_borders_stand_between_folders_of_the_level(rectangular):
    org = rectangular.organization
    figure = organized_matrix_figure(rectangular.X, org, border_level={"query": 1, "key": -2})
    horizontal = [y for y, _ in (line.get_ydata() for line in figure.axes[1].lines) if isinstance(y, float)]
    levels = org.trees["query"].levels[1][org.order("query")]
    expected = np.flatnonzero(np.diff(levels)) + 0.5
    assert set(expected) <= set(horizontal)
    n_lines = expected.size + len(org.trees["key"].folders(-2)) - 1
    assert len(figure.axes[1].lines) == n_lines
    assert not figure.axes[0].lines


def test_labels_follow_their_tokens_into_tree_order(causal):
    labels = [f"t{i}" for i in range(20)]
    figure = organized_matrix_figure(causal.X, causal.organization, query_labels=labels, key_labels=labels)
    found = [text.get_text() for text in figure.axes[1].get_yticklabels()]
    assert found == [f"t{i}" for i in causal.organization.order("query")]


def test_axes_in_another_order_give_the_same_picture(rectangular):
    X = rectangular.X
    turned = hb.organize(X.transpose(2, 1, 0), axes=("head", "key", "query"))
    figure = organized_matrix_figure(X.transpose(2, 1, 0), turned, 4)
    np.testing.assert_array_equal(shown(figure, 0).filled(), X[:, :, 4])
    assert figure.axes[0].get_ylabel() == "query"


@pytest.mark.parametrize("shape", [(3, 60), (60, 3), (1, 1)])
def test_ribbons_can_be_drawn(shape, tmp_path):
    X = np.random.default_rng(1).random((*shape, 2)) + 0.1
    figure = organized_matrix_figure(X, hb.organize(X))
    figure.savefig(tmp_path / "ribbon.png", dpi=40)
    assert shown(figure, 1).shape == shape


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"head": 12}, hb.SettingError, r"head must be a whole number in 0\.\.11; found 12"),
        ({"head": -1}, hb.SettingError, "head must be"),
        ({"scale": "square"}, hb.SettingError, "scale must be 'linear' or 'log'"),
        ({"quantiles": (0.9, 0.1)}, hb.SettingError, "quantiles must be two increasing"),
        ({"border_level": 40}, hb.TreeError, "level must lie in"),
        ({"query_labels": ["a"]}, hb.ShapeError, "query_labels must hold one text per item, 20; found 1"),
        ({"key_labels": "abc"}, hb.ShapeError, "key_labels must be a sequence of texts"),
        ({"title": 3}, hb.SettingError, "title must be a text"),
    ],
)
def test_wrong_options_are_refused(causal, options, error, message):
    with pytest.raises(error, match=message):
        organized_matrix_figure(causal.X, causal.organization, **options)


def test_tensors_that_were_not_organised_are_refused(causal):
    with pytest.raises(hb.ShapeError, match=r"organised shape \(20, 20, 12\); found \(20, 20\)"):
        organized_matrix_figure(causal.X[..., 0], causal.organization)
    broken = causal.X.copy()
    broken[4, 3, 0] = np.nan
    with pytest.raises(hb.DataError, match="row 4, column 3 of head 0 is nan"):
        organized_matrix_figure(broken, causal.organization)
