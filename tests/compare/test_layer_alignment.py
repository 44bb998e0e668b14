import numpy as np
import pytest

from haarbor.compare import linear_cka
from haarbor.compare._layer_alignment import layer_alignment, layer_kernels
from tests.compare.networks import attention


def test_every_two_layers_have_the_alignment_of_their_rows():
    batches = [(attention(b, seed=0), attention(b, seed=1, n_layers=3)) for b in range(3)]
    found = layer_alignment([(layer_kernels(x, 2), layer_kernels(y, 3)) for x, y in batches], (2, 3))

    def rows(tensor, layer):
        return tensor[:, :, 4 * layer : 4 * layer + 4].reshape(tensor.shape[0], -1)

    for one in range(2):
        for two in range(3):
            expected = linear_cka([rows(x, one) for x, _ in batches], [rows(y, two) for _, y in batches])
            assert found[one, two] == pytest.approx(expected)


def test_a_network_is_aligned_with_itself():
    kernels = layer_kernels(attention(0), 2)
    assert np.diag(layer_alignment([(kernels, kernels)], (2, 2))) == pytest.approx([1, 1])


def test_what_cannot_be_told_is_nan():
    assert layer_kernels(attention(0)[:3], 2) is None
    assert np.isnan(layer_alignment([], (2, 1))).all()
    flat = layer_kernels(np.ones((6, 6, 2)), 2)
    assert np.isnan(layer_alignment([(flat, flat)], (2, 2))).all()
