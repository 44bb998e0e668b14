import numpy as np
import pytest

import haarbor as hb
from haarbor.questionnaire._masked_entries import neutral_tensor
from tests.assertions import assert_close, assert_same_trees
from tests.samples import causal_probabilities

QK = ("query", "key")
QKH = ("query", "key", "head")
JUNK = [-np.inf, np.inf, np.nan, 1e30, 0.0, -1e9]


def causal_logits(rng, n_tokens=6, n_heads=4, dtype=np.float64):
    logits = rng.normal(size=(n_tokens, n_tokens, n_heads)).astype(dtype)
    return logits, np.tri(n_tokens, dtype=bool)


def plain_neutral(logits, mask):
    """Masked entries set to the mean of their row's valid ones, by loops."""
    filled = np.array(logits, dtype=float)
    n_queries, n_keys, n_heads = filled.shape
    everywhere = mask if mask.ndim == 3 else np.repeat(mask[:, :, None], n_heads, axis=2)
    for q in range(n_queries):
        for h in range(n_heads):
            valid = [filled[q, k, h] for k in range(n_keys) if everywhere[q, k, h]]
            head = [filled[i, k, h] for i in range(n_queries) for k in range(n_keys) if everywhere[i, k, h]]
            value = sum(valid) / len(valid) if valid else sum(head) / len(head)
            for k in range(n_keys):
                if not everywhere[q, k, h]:
                    filled[q, k, h] = value
    return filled


def test_masked_logits_by_hand():
    logits = [[[1.0], [9.0], [9.0]], [[2.0], [4.0], [9.0]], [[5.0], [6.0], [7.0]]]
    tensor, kind = neutral_tensor(logits, QKH, np.tri(3, dtype=bool))
    assert kind == "logits"
    assert tensor[:, :, 0].tolist() == [[1, 1, 1], [2, 4, 3], [5, 6, 7]]


@pytest.mark.parametrize("junk", JUNK)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_masked_logits_get_the_mean_of_their_row_whatever_stands_there(rng, junk, dtype):
    logits, mask = causal_logits(rng, dtype=dtype)
    logits[~mask] = junk
    before = logits.copy()
    tensor, kind = neutral_tensor(logits, QKH, mask)
    assert kind == "logits"
    assert tensor.dtype == dtype
    assert_close(tensor, plain_neutral(before, mask), dtype)
    np.testing.assert_array_equal(logits, before)


def test_a_mask_of_its_own_for_each_head(rng):
    logits, _ = causal_logits(rng)
    mask = rng.random(logits.shape) < 0.6
    mask[:, 0] = True
    logits[~mask] = np.nan
    tensor, _ = neutral_tensor(logits, QKH, mask)
    assert_close(tensor, plain_neutral(logits, mask))


def test_a_row_without_valid_entries_gets_the_mean_of_its_head(rng):
    logits, mask = causal_logits(rng)
    mask[2] = False
    tensor, _ = neutral_tensor(logits, QKH, mask, "logits")
    assert_close(tensor, plain_neutral(logits, mask))
    assert_close(tensor[2, 0], [logits[:, :, h][mask].mean() for h in range(4)])


def test_other_axis_orders_are_masked_alike(rng):
    logits, mask = causal_logits(rng)
    expected, _ = neutral_tensor(logits, QKH, mask)
    for axes in (("head", "query", "key"), ("key", "query", "head"), ("key", "head", "query")):
        turned = np.transpose(logits, [QKH.index(axis) for axis in axes])
        tensor, _ = neutral_tensor(turned, axes, mask)
        assert_close(np.transpose(tensor, [axes.index(axis) for axis in QKH]), expected)


def test_masked_probabilities_stay_zero(rng):
    X = causal_probabilities(rng, 6, 3)
    for content in ("auto", "probabilities"):
        tensor, kind = neutral_tensor(X, QKH, np.tri(6, dtype=bool), content)
        assert kind == "probabilities"
        assert tensor is X


def test_probabilities_that_are_called_logits_are_filled(rng):
    X = causal_probabilities(rng, 5, 2)
    tensor, kind = neutral_tensor(X, QKH, np.tri(5, dtype=bool), "logits")
    assert kind == "logits"
    assert_close(tensor, plain_neutral(X, np.tri(5, dtype=bool)))


@pytest.mark.parametrize("scale", [2.0, -1.0, 0.97])
def test_rows_that_do_not_sum_to_one_are_taken_for_logits(rng, scale):
    X = scale * causal_probabilities(rng, 5, 2)
    assert neutral_tensor(X, QKH, np.tri(5, dtype=bool))[1] == "logits"


def test_rows_masked_altogether_do_not_hide_probabilities(rng):
    X, mask = causal_probabilities(rng, 6, 2), np.tri(6, dtype=bool)
    X[4:], mask[4:] = 0, False
    assert neutral_tensor(X, QKH, mask)[1] == "probabilities"


def test_probabilities_in_half_precision_are_known(rng):
    X = causal_probabilities(rng, 6, 2, np.float16)
    tensor, kind = neutral_tensor(X, QKH, np.tri(6, dtype=bool))
    assert (kind, tensor.dtype) == ("probabilities", np.float32)


def test_without_a_mask_nothing_is_assumed(rng):
    X = rng.normal(size=(3, 4))
    tensor, kind = neutral_tensor(X, QK)
    assert kind == "unmasked"
    assert tensor is X


def test_masked_probabilities_that_are_not_zero_are_refused(rng):
    X = causal_probabilities(rng, 5, 2)
    X[1, 3, 1] = 0.25
    with pytest.raises(hb.DataError, match=r"found 0.25 at \(query 1, key 3, head 1\), 1 such entries"):
        neutral_tensor(X, QKH, np.tri(5, dtype=bool), "probabilities")


def test_valid_logits_must_be_finite(rng):
    logits, mask = causal_logits(rng)
    logits[3, 1, 2] = np.nan
    with pytest.raises(hb.DataError, match=r"found nan at \(query 3, key 1, head 2\), 1 such"):
        neutral_tensor(logits, QKH, mask)


def test_a_head_without_valid_entries_is_refused(rng):
    logits, _ = causal_logits(rng)
    mask = np.ones(logits.shape, dtype=bool)
    mask[:, :, 1] = False
    with pytest.raises(hb.DataError, match="every head needs at least one valid entry"):
        neutral_tensor(logits, QKH, mask)


@pytest.mark.parametrize("junk", JUNK)
def test_trees_do_not_depend_on_what_stands_under_the_mask(rng, junk):
    logits, mask = causal_logits(rng, 8, 5)
    org = hb.organize(np.where(mask[:, :, None], logits, junk), mask=mask, n_iterations=2)
    assert org.settings.masked_entries == "row mean of valid logits"
    filled = hb.organize(plain_neutral(logits, mask), n_iterations=2)
    assert_same_trees(org.trees, filled.trees)
    for axis in QKH:
        assert_close(org.affinities[axis], filled.affinities[axis])


def test_masked_probabilities_are_organised_as_they_are(rng):
    X = causal_probabilities(rng, 8, 5)
    masked = hb.organize(X, mask=np.tri(8, dtype=bool), n_iterations=2)
    assert masked.settings.masked_entries == "zero probabilities"
    assert_same_trees(masked.trees, hb.organize(X, n_iterations=2).trees)


def test_minus_infinity_without_a_mask_is_refused_with_advice(rng):
    logits, mask = causal_logits(rng)
    logits[~mask] = -np.inf
    with pytest.raises(hb.DataError, match=r"found -inf at \(query 0, key 1, head 0\).*pass mask="):
        hb.organize(logits)


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (
            np.ones((5, 6), bool),
            hb.ShapeError,
            r"shape \(6, 6\) \(query, key\) or \(6, 6, 4\); found \(5, 6\)",
        ),
        (np.ones((6, 6, 3), bool), hb.ShapeError, r"found \(6, 6, 3\)"),
        (np.ones((6, 6)), hb.ShapeError, "mask must be boolean"),
        (np.zeros((6, 6), bool), hb.DataError, "every entry is masked"),
        (np.zeros((6, 6, 4), bool), hb.DataError, "every entry is masked"),
    ],
)
def test_masks_that_do_not_fit_are_refused(rng, mask, error, message):
    with pytest.raises(error, match=message):
        hb.organize(rng.normal(size=(6, 6, 4)), mask=mask)


@pytest.mark.parametrize("lowest", [-65504.0, -3.3895313892515355e38, np.finfo("f4").min, np.finfo("f8").min])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_networks_write_over_masked_scores_is_no_score(rng, lowest, dtype):
    if abs(lowest) > np.finfo(dtype).max:
        return
    mask = np.tri(5, dtype=bool)
    X = np.where(mask[:, :, None], rng.normal(size=(5, 5, 3)), lowest).astype(dtype)
    with pytest.raises(hb.DataError, match=r"at \(query 0, key 1, head 0\), the lowest number.*Pass mask="):
        hb.organize(X)
    with pytest.raises(hb.DataError, match="the lowest number of its type"):
        hb.organize(X, mask=np.ones((5, 5), dtype=bool))
    found = hb.organize(X, mask=mask)
    assert found.settings.masked_entries == "row mean of valid logits"
