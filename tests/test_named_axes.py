import numpy as np
import pytest

import haarbor as hb
from haarbor.named_axes import axis_names, checked_mask, checked_tensor, position_text

QK = ("query", "key")
QKH = ("query", "key", "head")


def test_usual_names_are_those_of_matrices_and_networks():
    assert axis_names(None, 2) == QK
    assert axis_names(None, 3) == QKH
    assert axis_names(["a", "b", "c", "d"], 4) == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("axes", "n_axes", "message"),
    [
        (None, 4, "must have 2 or 3 axes; found 4"),
        (None, 1, "must have 2 or 3 axes; found 1"),
        ("qk", 2, "a sequence of names; found the single text 'qk'"),
        ([1, 0], 2, "axis names must be texts; found 1. Pass one such as 'query' for each axis"),
        (["query", None], 2, "axis names must be texts; found None"),
        (b"qk", 2, "axis names must be texts; found 113"),
        ({"query", "key"}, 2, "axes must be a sequence of names, one per axis in their order; found {'"),
        (7, 2, "axes must be a sequence of names, one per axis in their order; found 7"),
        (np.array("q"), 2, "axes must be a sequence of names"),
        (QK, 3, "found 2 names .* for 3 axes"),
        (("query", "query"), 2, "axis names must differ"),
    ],
)
def test_names_that_do_not_fit_are_refused(axes, n_axes, message):
    with pytest.raises(hb.ShapeError, match=message):
        axis_names(axes, n_axes)


def test_names_from_an_array_are_plain_texts():
    assert [type(name) for name in axis_names(np.array(["query", "key"]), 2)] == [str, str]


def test_position_names_every_axis():
    assert position_text((np.int64(4), 0, 2), QKH) == "query 4, key 0, head 2"
    assert position_text((1, 2), ("\x1b[2Jkey", "\ud800")) == r"\x1b[2Jkey 1, \ud800 2"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float16, np.float32), (np.float32, np.float32), (np.float64, np.float64),
        (np.longdouble, np.float64), (np.int8, np.float64), (np.int64, np.float64),
        (np.uint16, np.float64), (np.bool_, np.float64),
    ],
)  # fmt: skip
def test_dtypes_become_float32_or_float64(given, kept):
    tensor = checked_tensor(np.array([[0, 1], [1, 1]], dtype=given), QK)
    assert tensor.dtype == kept
    assert tensor.tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floating_input_is_not_copied(dtype):
    array = np.ones((2, 3), dtype)
    assert np.shares_memory(checked_tensor(array, QK), array)


@pytest.mark.parametrize("array", [np.ones((2, 2), complex), np.array([["a", "b"]]), np.array([[None, 1]])])
def test_arrays_that_hold_no_real_numbers_are_refused(array):
    with pytest.raises(hb.ShapeError, match="must hold real numbers; found dtype"):
        checked_tensor(array, QK)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(
        hb.ShapeError, match=r"must have the axes \('query', 'key'\); found shape \(2, 2, 2\)"
    ):
        checked_tensor(np.ones((2, 2, 2)), QK)
    with pytest.raises(hb.ShapeError, match=r"found shape \(2, 0, 3\). Axis 'key' is empty"):
        checked_tensor(np.ones((2, 0, 3)), QKH)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused_with_their_place(dtype, value):
    array = np.ones((3, 4, 5), dtype)
    array[2, 1, 3] = array[2, 2, 0] = value
    with pytest.raises(hb.DataError, match=r"\(query 2, key 1, head 3\), 2 such entries in all") as caught:
        checked_tensor(array, QKH)
    assert str(value) in str(caught.value)
    assert ("pass mask=" in str(caught.value)) == (value == -np.inf)


def test_infinities_of_both_signs_do_not_hide_each_other():
    array = np.ones((2, 2))
    array[0, 1], array[1, 0] = np.inf, -np.inf
    with pytest.raises(hb.DataError, match="query 0, key 1"):
        checked_tensor(array, QK)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_values_whose_sum_overflows_are_accepted(dtype):
    array = np.full((3, 3), np.finfo(dtype).max, dtype)
    assert checked_tensor(array, QK) is array


def test_numbers_beyond_float64_are_refused_as_what_they_are():
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        array = np.array([[1, np.longdouble("1e400")]])
        with pytest.raises(hb.DataError, match=r"found 1e\+400 at .query 0, key 1.*beyond float64: divide"):
            checked_tensor(array, QK)


def test_nan_may_stand_for_a_missing_entry():
    array = np.array([[1.0, np.nan]])
    assert checked_tensor(array, QK, nan_is_missing=True) is array
    with pytest.raises(hb.DataError, match="found inf"):
        checked_tensor(np.array([[np.inf, np.nan]]), QK, nan_is_missing=True)


def test_only_valid_entries_must_be_finite():
    array = np.array([[1.0, np.nan], [np.inf, 2.0]])
    valid = np.array([[True, False], [False, True]])
    assert checked_tensor(array, QK, valid=valid) is array
    with pytest.raises(hb.DataError, match=r"found inf at .query 1, key 0., 1 such"):
        checked_tensor(array, QK, valid=np.array([[True, False], [True, True]]))


def test_a_query_key_mask_is_shaped_for_the_tensor():
    mask = np.tri(3, 2, dtype=bool)
    assert checked_mask(mask, QKH, (3, 2, 5)).shape == (3, 2, 1)
    assert checked_mask(mask, ("head", "query", "key"), (5, 3, 2)).shape == (1, 3, 2)
    turned = checked_mask(mask, ("key", "head", "query"), (2, 5, 3))
    assert turned.shape == (2, 1, 3)
    assert (turned[:, 0, :] == mask.T).all()


def test_a_mask_of_the_tensors_shape_is_taken_as_it_is(rng):
    mask = rng.random((3, 2, 5)) < 0.5
    assert (checked_mask(mask, QKH, (3, 2, 5)) == mask).all()


@pytest.mark.parametrize(
    ("mask", "axes", "shape", "error", "message"),
    [
        (np.ones((3, 3)), QK, (3, 3), hb.ShapeError, "boolean.*found dtype float64.*mask == 0"),
        (
            np.ones((3, 3), int),
            QK,
            (3, 3),
            hb.ShapeError,
            "boolean.*found dtype int64.*ones and zeros by mask == 1",
        ),
        ([["True", "False"]], QK, (1, 2), hb.ShapeError, "boolean.*found dtype <U5"),
        (
            np.ma.masked_all((3, 3), bool),
            QK,
            (3, 3),
            hb.ShapeError,
            "mask must be a plain array; found a masked",
        ),
        (
            np.ones((2, 3), bool),
            QKH,
            (3, 2, 4),
            hb.ShapeError,
            r"shape \(3, 2\) \(query, key\) or \(3, 2, 4\)",
        ),
        (np.ones(3, bool), QK, (3, 3), hb.ShapeError, r"found \(3,\)"),
        (np.ones((3, 3), bool), ("a", "b", "c"), (3, 3, 2), hb.ShapeError, "axes named 'query' and 'key'"),
        (np.zeros((3, 3), bool), QK, (3, 3), hb.DataError, "at least one valid entry; every entry is masked"),
    ],
)
def test_masks_that_do_not_fit_are_refused(mask, axes, shape, error, message):
    with pytest.raises(error, match=message):
        checked_mask(mask, axes, shape)
