import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import ShapeError
from haarbor.plots import paraproduct_figure, save_figure
from tests.samples import HALVES, random_tree


def images(figure):
    return [panel.get_images()[0].get_array() for panel in figure.axes if panel.get_images()]


def test_panels_hold_logits_densities_and_residual_in_tree_order(rng):
    rows, columns = random_tree(rng, 9), random_tree(rng, 12)
    f = rng.normal(size=(9, 12))
    order = (rng.permutation(9), rng.permutation(12))
    figure = paraproduct_figure(f, rows, columns, row_order=order[0], column_order=order[1])
    place = np.ix_(*order)
    shown = images(figure)
    np.testing.assert_allclose(shown[0], f[place])
    corrected = hb.paraproduct(f, rows, columns, "softmax")
    paper = hb.paraproduct(f, rows, columns, "softmax", "paper")
    low = shown[1].min()
    for picture, values in zip(
        shown[1:4], (corrected.value, paper.approximation, corrected.approximation), strict=True
    ):
        np.testing.assert_allclose(picture, np.maximum(12 * values[place], picture.min()))
    assert shown[2].min() > 0, "what is not positive would be drawn as masked on a logarithmic scale"
    assert low > 0
    np.testing.assert_allclose(shown[4], 12 * corrected.residual[place], atol=1e-15)
    titles = [panel.get_title(loc="left") for panel in figure.axes[:5]]
    assert "explains" in titles[2]
    explained = 1 - ((12 * corrected.residual) ** 2).sum() / ((12 * corrected.value - 1) ** 2).sum()
    assert f"explains {100 * explained:.0f} %" in titles[3]


def test_folders_stand_together_without_an_order(rng):
    mixed = hb.PartitionTree([[0] * 4, [0, 1, 0, 1], [0, 1, 2, 3]])
    f = np.array([[1.0, 5.0, 2.0, 6.0]] * 4) + 0.01 * rng.normal(size=(4, 4))
    logits = images(paraproduct_figure(f, HALVES, mixed))[0]
    assert (np.diff(np.round(logits[0])) >= 0).all()


def test_masked_entries_are_left_out(rng, tmp_path):
    mask = np.tri(4, dtype=bool)
    f = np.where(mask, rng.normal(size=(4, 4)), -np.inf)
    figure = paraproduct_figure(f, HALVES, HALVES, mask=mask, title="a head")
    for picture in images(figure):
        assert np.ma.getmaskarray(picture).sum() == 6
    assert save_figure(figure, tmp_path / "a.png").stat().st_size > 10_000
    assert figure.get_suptitle() == "a head"


def test_a_uniform_softmax_is_drawn_and_said(rng):
    figure = paraproduct_figure(np.zeros((4, 4)), HALVES, HALVES)
    assert "the softmax is uniform" in figure.axes[2].get_title(loc="left")


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match="mask must have the shape"):
        paraproduct_figure(np.zeros((4, 4)), HALVES, HALVES, mask=np.ones((2, 2), dtype=bool))
