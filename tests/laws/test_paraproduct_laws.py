"""What holds for every matrix on every pair of trees."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import haarbor as hb
from haarbor.paraproducts import paraproduct_forms, row_softmax, telescoping
from haarbor.paraproducts._folder_axis import FolderAxis
from haarbor.paraproducts._masked_softmax_pieces import MaskedSoftmaxPieces
from haarbor.paraproducts._softmax_pieces import SoftmaxPieces
from haarbor.testing import partition_trees

seeds = st.integers(0, 2**32 - 1)
names = st.sampled_from(
    ("exp", "sigmoid", "tanh", "square", "cube", "gaussian", "inverse potential", "softmax")
)


def matrix(rows, columns, seed, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(rows.n_items, columns.n_items))


def random_mask(shape, seed):
    mask = np.random.default_rng([seed, 1]).random(shape) < 0.6
    mask[-1, -1] = True
    return mask


@given(partition_trees(), partition_trees(), names, seeds, st.booleans())
def test_differences_between_scales_add_up_to_the_nonlinearity(rows, columns, name, seed, masked):
    f = matrix(rows, columns, seed)
    mask = random_mask(f.shape, seed) if masked else None
    exact = telescoping(f, rows, columns, name, mask)
    split = hb.paraproduct(f, rows, columns, name, mask=mask)
    scale = max(1.0, float(np.abs(split.value).max()))
    np.testing.assert_allclose(exact.total, split.value, rtol=0, atol=1e-12 * scale)
    shown = np.ones(f.shape, dtype=bool) if mask is None else mask
    if name == "softmax":
        np.testing.assert_allclose(split.value, row_softmax(f, shown), rtol=0, atol=1e-12)
    elif name == "exp":
        np.testing.assert_allclose(split.value[shown], np.exp(f[shown]), rtol=1e-12)


@given(partition_trees(), partition_trees(), seeds)
def test_any_map_telescopes_even_one_that_is_not_smooth(rows, columns, seed):
    f = matrix(rows, columns, seed)
    step = (np.sign, np.zeros_like, np.zeros_like)
    np.testing.assert_allclose(telescoping(f, rows, columns, step).total, np.sign(f), atol=1e-12)


@given(partition_trees(), partition_trees(), seeds)
def test_an_affine_map_leaves_nothing(rows, columns, seed):
    f = matrix(rows, columns, seed)
    affine = (lambda x: 3 * x - 1, lambda x: np.full_like(x, 3.0), np.zeros_like)
    for form in ("paper+boundary", "corrected", "corrected+marginals"):
        split = hb.paraproduct(f, rows, columns, affine, form)
        np.testing.assert_allclose(split.residual, 0.0, atol=1e-11)


@given(partition_trees(), partition_trees(), seeds)
def test_of_a_square_the_corrected_form_leaves_the_squares_of_mixed_differences(rows, columns, seed):
    f = matrix(rows, columns, seed)
    expected = np.zeros(f.shape)

    def mean(level, scale):
        total = np.zeros(f.shape)
        for items in rows.folders(level):
            for keys in columns.folders(scale):
                total[np.ix_(items, keys)] = f[np.ix_(items, keys)].mean()
        return total

    for level in range(rows.n_levels - 1):
        for scale in range(columns.n_levels - 1):
            w = (
                mean(level + 1, scale + 1)
                - mean(level + 1, scale)
                - mean(level, scale + 1)
                + mean(level, scale)
            )
            expected += w**2
    split = hb.paraproduct(f, rows, columns, "square")
    np.testing.assert_allclose(split.residual, expected, atol=1e-11)


@given(partition_trees(), partition_trees(), names, seeds, st.booleans())
def test_pieces_follow_a_permutation_of_rows_and_columns(rows, columns, name, seed, masked):
    f = matrix(rows, columns, seed)
    mask = random_mask(f.shape, seed) if masked else None
    rng = np.random.default_rng([seed, 2])
    order = [rng.permutation(n) for n in f.shape]
    place = np.ix_(*order)
    plain = paraproduct_forms(f, rows, columns, name, mask)
    moved = paraproduct_forms(
        f[place],
        rows.permuted(order[0]),
        columns.permuted(order[1]),
        name,
        None if mask is None else mask[place],
    )
    for form, split in plain.items():
        np.testing.assert_allclose(moved[form].approximation, split.approximation[place], atol=1e-11)


@given(partition_trees(), partition_trees(), seeds)
def test_closed_formulas_of_the_softmax_are_the_masked_ones_with_an_open_mask(rows, columns, seed):
    f = matrix(rows, columns, seed, 2.0)
    axes = (FolderAxis(rows), FolderAxis(columns))
    closed, whole = SoftmaxPieces(f, axes), MaskedSoftmaxPieces(f, axes, np.ones(f.shape, dtype=bool))
    for chosen in ((0,), (1,), (0, 1)):
        np.testing.assert_allclose(closed.linear(chosen), whole.linear(chosen), atol=1e-12)
    for chosen in ((0,), (1,)):
        np.testing.assert_allclose(closed.marginal(chosen), whole.marginal(chosen), atol=1e-12)
        np.testing.assert_allclose(closed.boundary(chosen), whole.boundary(chosen), atol=1e-12)
    for one, other in zip(closed.differences(), whole.differences(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    np.testing.assert_allclose(closed.linear_energy(), whole.linear_energy(), atol=1e-12)
    np.testing.assert_allclose(closed.constants(), whole.constants(), atol=1e-6)


@given(partition_trees(), partition_trees(), seeds, st.booleans())
def test_rows_of_every_softmax_form_sum_to_one_or_to_zero(rows, columns, seed, masked):
    f = matrix(rows, columns, seed)
    mask = random_mask(f.shape, seed) if masked else np.ones(f.shape, dtype=bool)
    seen = mask.any(axis=1).astype(float)
    for form, split in paraproduct_forms(f, rows, columns, "softmax", mask).items():
        total = np.zeros(f.shape[0]) if form == "paper" else seen
        np.testing.assert_allclose(split.approximation.sum(axis=1), total, atol=1e-12)


@given(partition_trees(min_items=2), partition_trees(min_items=2), seeds, st.floats(-50, 50))
def test_a_constant_added_to_the_logits_changes_no_softmax_form(rows, columns, seed, constant):
    f = matrix(rows, columns, seed)
    plain = paraproduct_forms(f, rows, columns, "softmax")
    moved = paraproduct_forms(f + constant, rows, columns, "softmax")
    for form, split in plain.items():
        np.testing.assert_allclose(moved[form].approximation, split.approximation, atol=1e-11)
