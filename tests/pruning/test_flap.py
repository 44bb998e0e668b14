"""FLAP's fluctuation scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.pruning import NetworkHeads
from haarbor.pruning._flap import flap_scores
from tests.assertions import assert_close
from tests.pruning.builders import layer_heads, moments_of


def test_by_hand():
    # Channels with variances 1 and 4 about means that do not count, weights 2 and 1: fluctuations 4 and 4
    # in the first head, 0 in the second; squared 16, 16, 0, 0: mean 8, standard deviation 8.
    x = np.array([[9.0, 12.0, 5.0, 5.0], [11.0, 16.0, 5.0, 5.0]])
    weight = np.array([[2.0, 1.0, 7.0, 7.0]])
    assert_close(flap_scores([moments_of(x, weight)], NetworkHeads((layer_heads(2, 2),))), [1.0, -1.0])


def test_it_is_the_slow_transcription(rng):
    heads = NetworkHeads((layer_heads(3, 2), layer_heads(2, 4)))
    xs = [rng.normal(2, 3, (50, 6)), rng.normal(-1, 2, (40, 8))]
    weights = [rng.normal(size=(5, 6)), rng.normal(size=(5, 8))]
    expected = []
    for x, weight, width in zip(xs, weights, (2, 4), strict=True):
        channels = []
        for j in range(x.shape[1]):
            mean = sum(x[:, j]) / len(x)
            variance = sum((value - mean) ** 2 for value in x[:, j]) / len(x)
            channels.append((variance * sum(w**2 for w in weight[:, j])) ** 2)
        middle = sum(channels) / len(channels)
        spread = (sum((value - middle) ** 2 for value in channels) / len(channels)) ** 0.5
        standard = [(value - middle) / spread for value in channels]
        expected += [sum(standard[k : k + width]) / width for k in range(0, len(standard), width)]
    moments = [moments_of(x, weight) for x, weight in zip(xs, weights, strict=True)]
    assert_close(flap_scores(moments, heads), expected, scale=1e3)


@given(st.floats(0.1, 10), st.floats(-5, 5), st.integers(0, 2**32 - 1))
def test_neither_the_scale_nor_the_mean_of_a_layer_counts(scale, offset, seed):
    rng = np.random.default_rng(seed)
    heads = NetworkHeads((layer_heads(4, 2),))
    x, weight = rng.normal(size=(30, 8)), rng.normal(size=(3, 8))
    found = flap_scores([moments_of(scale * x + offset, weight)], heads)
    assert found == pytest.approx(flap_scores([moments_of(x, weight)], heads), abs=1e-6)
    assert abs(found.mean()) < 1e-9


def test_a_layer_whose_channels_are_all_alike_gets_zeros():
    x = np.tile([[1.0], [-1.0]], (1, 4))
    assert flap_scores([moments_of(x, np.ones((2, 4)))], NetworkHeads((layer_heads(2, 2),))).tolist() == [
        0,
        0,
    ]
