import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from haarbor.report._packing import packed_text, plain_numbers, quantised_matrix
from tests.report.reading import matrix

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7)
POSITIVE = hnp.arrays(np.float64, SHAPES, elements=st.floats(0, 1024, width=32, allow_subnormal=False))
SIGNED = hnp.arrays(np.float64, SHAPES, elements=st.floats(-1024, 1024, width=32, allow_subnormal=False))


@given(POSITIVE)
def test_roots_are_within_the_error_they_promise(values):
    found = quantised_matrix(values, 2)
    largest = values.max(axis=1, keepdims=True)
    # Half a step of the root, squared; float32 scales add a little.
    bound = np.sqrt(values * largest) / 255 + largest * (0.5 / 255) ** 2 + 1e-6 * largest
    assert (np.abs(found.values - values) <= bound).all()
    assert found.largest_error == np.abs(found.values - values).max()


@given(SIGNED)
def test_signed_rows_are_within_half_a_step(values):
    found = quantised_matrix(values, 1)
    span = np.ptp(values, axis=1, keepdims=True)
    bound = span / 510 + 1e-6 * np.abs(values).max(axis=1, keepdims=True)
    assert (np.abs(found.values - values) <= bound).all()


@pytest.mark.parametrize("power", [1, 2])
def test_bytes_are_read_back_by_another_reader(rng, power):
    values = rng.random((3, 5)) - (0.5 if power == 1 else 0)
    found = quantised_matrix(values, power)
    np.testing.assert_allclose(matrix(found.to_bytes(), 3, 5, power), found.values, rtol=1e-6)


@given(POSITIVE, st.sampled_from([85, 51, 17]))
def test_fewer_steps_are_within_their_error_and_read_in_the_same_way(values, n_steps):
    found = quantised_matrix(values, 2, n_steps)
    largest = values.max(axis=1, keepdims=True)
    bound = np.sqrt(values * largest) / n_steps + largest * (0.5 / n_steps) ** 2 + 1e-6 * largest
    assert (np.abs(found.values - values) <= bound).all()
    assert not (found.steps % (255 // n_steps)).any()
    np.testing.assert_allclose(matrix(found.to_bytes(), *values.shape, 2), found.values, rtol=1e-5)


def test_entries_that_are_not_kept_take_no_room(rng):
    values, kept = rng.random((4, 5)), rng.random((4, 5)) < 0.5
    found = quantised_matrix(values, 2)
    data = found.to_bytes(kept)
    assert len(data) == 8 * 4 + kept.sum()
    np.testing.assert_allclose(matrix(data, 4, 5, 2, kept)[kept], found.values[kept], rtol=1e-6)


def test_rows_of_zeros_and_constant_rows_are_exact():
    values = np.array([[0.0, 0.0], [0.25, 0.25]])
    assert quantised_matrix(values, 2).values.tolist() == values.tolist()
    assert quantised_matrix(-values, 1).values.tolist() == (-values).tolist()
    assert quantised_matrix(values, 2).largest_error == 0


def test_packed_text_has_no_clock_and_comes_back():
    data = bytes(range(256)) * 50
    assert packed_text(data) == packed_text(bytes(data))
    assert zlib.decompress(base64.b64decode(packed_text(data))) == data
    assert packed_text(data).isascii()


def test_numbers_are_plain_short_and_never_nan():
    found = plain_numbers({"a": (np.float32(0.1), np.inf, -0.0), "b": [np.array([[1.0]]), None, "x", True]})
    assert found == {"a": [0.1, None, 0], "b": [[[1]], None, "x", True]}
    assert plain_numbers(123456789.0) == 123457000
