import dataclasses

import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import DataError
from haarbor.paraproducts import row_softmax
from tests.reference.paraproduct import Pointwise, RowSoftmax, affine_r2, decomposition, explained
from tests.samples import HALVES, random_tree


def reference_figures(f, rows, columns, mask):
    """Every figure, from the forms of full-size averages."""
    forms = decomposition(f, rows.levels, columns.levels, RowSoftmax(mask), mask)
    counts = mask.sum(axis=1, keepdims=True)
    density = counts * row_softmax(f, mask)
    ones = Pointwise(np.ones_like, np.ones_like, np.ones_like, mask)
    with np.errstate(divide="ignore"):
        log_density = np.where(mask, np.log(density), 0.0)
    exponential = Pointwise(np.exp, np.exp, np.exp, mask)
    by_exp = decomposition(log_density, rows.levels, columns.levels, exponential, mask)["paper+boundary"]
    invariant = decomposition(f, rows.levels, columns.levels, ones, mask)["paper"]
    means = [f[i][mask[i]].mean() if mask[i].any() else 0.0 for i in range(f.shape[0])]
    centred = f - np.array(means)[:, None]
    exact = explained(density, counts * forms["corrected+marginals"], mask)
    invariance = affine_r2(density[mask], invariant[mask])
    return {
        "exact": exact,
        "paper": explained(density, counts * forms["paper+boundary"], mask),
        "paper_exp": explained(density, by_exp, mask),
        "invariance": invariance,
        "linear": affine_r2(density[mask], centred[mask]),
        "gap": exact - invariance,
    }


@pytest.mark.parametrize("masked", [False, True])
def test_figures_are_those_of_forms_written_out(masked, rng):
    rows, columns = random_tree(rng, 8), random_tree(rng, 7)
    f = 1.5 * rng.normal(size=(8, 7))
    mask = rng.random((8, 7)) < 0.7 if masked else np.ones((8, 7), dtype=bool)
    mask[0] = False if masked else mask[0]
    found = hb.softmax_invariance(f, rows, columns, mask if masked else None)
    for name, value in reference_figures(f, rows, columns, mask).items():
        assert getattr(found.figures, name) == pytest.approx(value, abs=1e-10), name
    assert found.n_valid == mask.sum()
    assert found.n_rows == mask.any(axis=1).sum()
    centred = [f[i][mask[i]] - f[i][mask[i]].mean() for i in range(8) if mask[i].any()]
    assert found.logit_deviation == pytest.approx(np.concatenate(centred).std(), abs=1e-12)


def test_small_logits_are_their_softmax_and_large_ones_are_not(rng):
    rows, columns = random_tree(rng, 24), random_tree(rng, 30)
    f = rng.normal(size=(24, 30))
    linear = [hb.softmax_invariance(size * f, rows, columns).figures.linear for size in (0.01, 1.0, 6.0)]
    assert linear[0] > 0.999
    assert linear[0] > linear[1] > linear[2]
    assert linear[2] < 0.5


def test_constants_of_small_logits_are_one(rng):
    rows, columns = random_tree(rng, 24), random_tree(rng, 30)
    f = rng.normal(size=(24, 30))
    for mask in (None, np.tri(24, 30, 6, dtype=bool)):
        figures = hb.softmax_invariance(1e-3 * f, rows, columns, mask).figures
        assert figures.constant_mean == pytest.approx(1.0, abs=1e-2)
        assert figures.constant_deviation < 1e-2
        assert (
            hb.softmax_invariance(f, rows, columns, mask).figures.constant_deviation
            > figures.constant_deviation
        )


def test_constants_are_densities_of_the_softmax_of_means_weighed_by_size():
    f = np.array([[0.0, 1.0, 3.0, 5.0]] * 2)
    pair = hb.PartitionTree([[0, 0], [0, 1]])
    figures = hb.softmax_invariance(f, pair, HALVES).figures
    # The root, and the halves with means 0.5 and 4: only folders that split have a constant.
    p = np.exp([0.5, 4.0]) / (2 * np.exp([0.5, 4.0]).sum())
    values, weights = 4 * np.array([0.25, *p]), [4, 2, 2]
    mean = np.average(values, weights=weights)
    assert figures.constant_mean == pytest.approx(mean)
    assert figures.constant_deviation == pytest.approx(
        np.sqrt(np.average((values - mean) ** 2, weights=weights))
    )


def test_controls_are_the_figures_of_shuffled_trees_and_rows(rng):
    rows, columns = random_tree(rng, 16), random_tree(rng, 20)
    f = hb.datasets.haar_series(rows, columns, 0.4, amplitude=0.7)
    found = hb.softmax_invariance(f, rows, columns, seed=3)
    again = hb.softmax_invariance(f, rows, columns, seed=3)
    assert found == again
    other = hb.softmax_invariance(f, rows, columns, seed=4)
    assert other.figures == found.figures
    assert other.shuffled_trees != found.shuffled_trees
    order = np.random.default_rng(3)
    shuffled = (rows.permuted(order.permutation(16)), columns.permuted(order.permutation(20)))
    assert found.shuffled_trees == hb.softmax_invariance(f, *shuffled).figures
    # No tree enters the plain logits, and no order within a row either.
    for control in (found.shuffled_trees, found.shuffled_rows):
        assert control.linear == pytest.approx(found.figures.linear, abs=1e-12)
        assert control.exact != found.figures.exact


def test_rows_are_shuffled_among_their_valid_entries(rng):
    from haarbor.paraproducts._invariance import _shuffled_within_rows

    f = rng.normal(size=(6, 8))
    mask = rng.random((6, 8)) < 0.6
    shuffled = _shuffled_within_rows(np.where(mask, f, 0.0), mask, rng)
    for row in range(6):
        np.testing.assert_array_equal(np.sort(shuffled[row][mask[row]]), np.sort(f[row][mask[row]]))
    assert (shuffled[~mask] == 0).all()
    assert (shuffled != np.where(mask, f, 0.0)).any()


@pytest.mark.parametrize("name", ["exact", "paper", "invariance", "linear", "gap"])
def test_the_figures_of_the_head_itself_are_at_hand(name, rng):
    tree = hb.PartitionTree.from_levels([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    found = hb.softmax_invariance(rng.normal(size=(4, 4)), tree, tree)
    assert getattr(found, name) == getattr(found.figures, name)


def test_every_figure_is_a_number(rng):
    rows, columns = random_tree(rng, 6), random_tree(rng, 9)
    found = hb.softmax_invariance(300 * rng.normal(size=(6, 9)), rows, columns, np.tri(6, 9, 3, dtype=bool))
    for figures in (found.figures, found.shuffled_trees, found.shuffled_rows):
        assert np.isfinite(list(dataclasses.asdict(figures).values())).all()


def test_a_uniform_softmax_is_refused():
    with pytest.raises(DataError, match="must differ from uniform"):
        hb.softmax_invariance(np.full((4, 4), 3.0), HALVES, HALVES)


def test_minus_infinity_without_a_mask_is_refused():
    f = np.where(np.tri(4, dtype=bool), 1.0, -np.inf)
    with pytest.raises(DataError, match="pass mask="):
        hb.softmax_invariance(f, HALVES, HALVES)
