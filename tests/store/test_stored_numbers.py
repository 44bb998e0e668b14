import numpy as np
import pytest

from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.store import error_bound
from haarbor.store._stored_numbers import stored_layer, used_places


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rounding_stays_within_the_stated_bound(rng, dtype):
    values = rng.choice([-1.0, 1.0], size=(1, 100, 300)) * 10.0 ** rng.uniform(-50, 4.8, size=(1, 100, 300))
    bound = error_bound(dtype)
    error = np.abs(stored_layer(values, values.shape, dtype, "logits").astype(np.float64) - values)
    assert (error <= np.maximum(bound.relative * np.abs(values), bound.absolute)).all()


def test_bound_of_half_precision_is_reached():
    # Half way between 1 and its neighbour, and between 0 and the smallest number.
    values = np.array([[[1 + 2.0**-11, 2.0**-25]]])
    error = np.abs(stored_layer(values, (1, 1, 2), "float16", "logits").astype(np.float64) - values)
    assert error.tolist() == [[[error_bound("float16").relative, error_bound("float16").absolute]]]


def test_float32_comes_back_unchanged(rng):
    values = rng.normal(size=(2, 3, 3)).astype(np.float32)
    assert np.array_equal(stored_layer(values, (2, 3, 3), "float32", "logits"), values)


def test_values_too_large_for_half_precision_are_refused():
    values = np.zeros((2, 3, 3), dtype=np.float32)
    values[1, 2, 0] = 65504
    stored_layer(values, (2, 3, 3), "float16", "logits")
    values[1, 2, 0] = -7e4
    with pytest.raises(
        DataError, match=r"within \+-65504; found -70000 at \(head 1, query 2, key 0\).*float32"
    ):
        stored_layer(values, (2, 3, 3), "float16", "logits")


@pytest.mark.parametrize("content", ["probabilities", "logits"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(content, value):
    values = np.zeros((1, 2, 2))
    values[0, 1, 1] = value
    with pytest.raises(DataError, match=rf"found {value} at \(head 0, query 1, key 1\), 1 such entries"):
        stored_layer(values, (1, 2, 2), "float32", content)


def test_minus_infinity_is_a_masked_logit_and_no_probability():
    values = np.full((1, 1, 2), -np.inf)
    assert np.isneginf(stored_layer(values, (1, 1, 2), "float16", "logits")).all()
    with pytest.raises(DataError, match="probabilities of layer 3 must be finite"):
        stored_layer(values, (1, 1, 2), "float16", "probabilities", "layer 3")


@pytest.mark.parametrize(("dtype", "limit"), [("float16", 65520.0), ("float32", 2.0**128 - 2.0**103)])
def test_the_first_number_that_rounds_to_infinity_is_refused(dtype, limit):
    values = np.array([[[np.nextafter(limit, 0), -np.nextafter(limit, 0)]]])
    assert np.isfinite(stored_layer(values, (1, 1, 2), dtype, "logits")).all()
    values[0, 0, 1] = -limit
    with pytest.raises(
        DataError, match=rf"found -{limit:g} at \(head 0, query 0, key 1\)".replace("+", r"\+")
    ):
        stored_layer(values, (1, 1, 2), dtype, "logits")


@pytest.mark.parametrize("given", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_every_precision_may_be_given(given, dtype):
    values = np.array([[[0.1, 65504.0, -np.inf]]], dtype=given)
    found = stored_layer(values, (1, 1, 3), dtype, "logits")
    assert found.dtype == dtype
    assert found.tolist() == values.astype(dtype).tolist()
    values[0, 0, 0] = np.nan
    with pytest.raises(DataError, match="found nan"):
        stored_layer(values, (1, 1, 3), dtype, "logits")


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_used_places_are_those_of_any_head(dtype):
    values = np.array([[[0.0, -0.0, 1e-7, -np.inf]], [[0.0, 0.0, 0.0, 5.0]]], dtype=dtype)
    assert used_places(values, "probabilities").tolist() == [[False, False, True, True]]
    assert used_places(values, "logits").tolist() == [[False, False, False, True]]


def test_other_shapes_and_dtypes_are_refused():
    with pytest.raises(ShapeError, match=r"must have shape \(1, 2, 2\) \(head, query, key\); found \(2, 2\)"):
        stored_layer(np.zeros((2, 2)), (1, 2, 2), "float32", "logits")
    with pytest.raises(ShapeError, match="floating-point numbers; found dtype int64"):
        stored_layer(np.zeros((1, 2, 2), dtype=np.int64), (1, 2, 2), "float32", "logits")
    with pytest.raises(SettingError, match="'float16' or 'float32'; found 'int8'"):
        error_bound("int8")
