from dataclasses import fields

import numpy as np
import pytest

import haarbor as hb
from haarbor.transport import ScratchTensor
from haarbor.wavelets import streamed_head_entropy, streamed_network_entropy
from tests.samples import random_tree

AXES = ("query", "key", "head")


def in_file(values):
    tensor = ScratchTensor(values.shape, values.dtype)
    tensor.write((0, 0, 0), values)
    return tensor


def assert_equal(found, expected, rtol):
    for field in fields(expected):
        mine, theirs = getattr(found, field.name), getattr(expected, field.name)
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol, err_msg=field.name)


@pytest.mark.parametrize("piece_bytes", [1, 20_000, 10**8])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_entropies_are_those_of_the_tensor_in_memory(rng, dtype, rtol, piece_bytes):
    X = rng.normal(size=(9, 12, 7)).astype(dtype)
    X += 3
    trees = {axis: random_tree(rng, n) for axis, n in zip(AXES, X.shape, strict=True)}
    limits = {"exponent": 0, "piece_bytes": piece_bytes}
    heads = streamed_head_entropy(in_file(X.transpose(2, 0, 1)), trees, 30, **limits)
    assert_equal(heads, hb.head_entropy(X, trees, 30), rtol)
    assert len(heads) == 7
    network = streamed_network_entropy(in_file(X.transpose(2, 0, 1)), trees, 50, **limits)
    assert_equal(network, hb.network_entropy(X, trees, 50), rtol)
    assert 0 < network.fine_share < 1


def test_a_tensor_that_was_scaled_has_the_entropies_of_the_original(rng):
    X = rng.normal(size=(5, 6, 4)) * 2.0**600
    small = X * 2.0**-600
    trees = {axis: random_tree(rng, n) for axis, n in zip(AXES, X.shape, strict=True)}
    limits = {"exponent": 600, "piece_bytes": 10**6}
    network = streamed_network_entropy(in_file(small.transpose(2, 0, 1)), trees, 9, **limits)
    assert_equal(network, hb.network_entropy(X, trees, 9), 1e-12)
    heads = streamed_head_entropy(in_file(small.transpose(2, 0, 1)), trees, 9, **limits)
    assert_equal(heads, hb.head_entropy(X, trees, 9), 1e-12)
