import numpy as np
import pytest

from haarbor.store._half_precision import from_half, to_half


def assert_same_bits(found, expected):
    """Equal to the last bit, zeros' signs included."""
    assert found.dtype == expected.dtype
    assert np.array_equal(found.view(np.uint16), expected.view(np.uint16))


def test_every_half_comes_back():
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = halves[~np.isnan(halves)]
    assert np.array_equal(from_half(halves), halves.astype(np.float32))
    assert_same_bits(to_half(from_half(halves)), halves)


def test_numbers_between_halves_round_as_numpy_rounds_them():
    # Every half, the middle to the next one, and the singles on both sides of the middle.
    halves = np.arange(0x7BFF, dtype=np.uint16).view(np.float16).astype(np.float32)
    above = np.arange(1, 0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    middle = (halves + above) / 2
    for sign in (1, -1):
        for values in (middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, above)):
            with np.errstate(under="ignore"):
                assert_same_bits(to_half(sign * values), (sign * values).astype(np.float16))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_random_numbers_of_all_sizes_round_as_numpy_rounds_them(rng, dtype):
    with np.errstate(under="ignore"):
        values = (rng.choice([-1, 1], size=200_000) * 2.0 ** rng.uniform(-60, 15.99, size=200_000)).astype(
            dtype
        )
        assert_same_bits(to_half(values), values.astype(np.float16))


def test_infinities_and_zeros_keep_their_sign():
    values = np.array([np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45], dtype=np.float32)
    with np.errstate(under="ignore"):
        assert_same_bits(to_half(values), values.astype(np.float16))


def test_views_that_are_not_contiguous_are_taken_in_their_order(rng):
    values = rng.normal(size=(3, 4, 5)).astype(np.float32).transpose(2, 0, 1)
    found = to_half(values)
    assert found.flags.c_contiguous
    assert_same_bits(found, np.ascontiguousarray(values.astype(np.float16)))
    halves = values.astype(np.float16)[::2]
    assert np.array_equal(from_half(halves), halves.astype(np.float32))
