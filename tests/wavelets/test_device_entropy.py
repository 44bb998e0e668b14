import dataclasses

import numpy as np
import pytest

import haarbor as hb
from haarbor.wavelets import haar_system, largest_products
from haarbor.wavelets._device_entropy import device_power_sums
from tests.assertions import assert_close
from tests.engines.numpy_device import NumpyDevice, numpy_gpu
from tests.samples import random_tree


@pytest.mark.parametrize("free", [1 << 40, 6 << 20])
@pytest.mark.parametrize("p", [1.0, 0.5, 2.0])
def test_sums_are_those_of_the_cpu(rng, p, free):
    # With little memory heads are expanded one by one.
    X = rng.normal(size=(70, 60, 3))
    trees = {"query": random_tree(rng, 70), "key": random_tree(rng, 60)}
    products = largest_products([haar_system(tree) for tree in trees.values()], 100)
    gpu = hb.GpuEngine(NumpyDevice(free))
    found = device_power_sums(X, {0: trees["query"], 1: trees["key"]}, products, p, gpu).fields()
    expected = hb.head_entropy(X, trees, 100, p)
    for name, values in found.items():
        assert_close(values, getattr(expected, name))


def test_half_precision_is_expanded_in_float32(rng):
    X = rng.normal(size=(6, 5, 2)).astype(np.float16)
    trees = {0: random_tree(rng, 6), 1: random_tree(rng, 5)}
    products = largest_products([haar_system(tree) for tree in trees.values()], 7)
    found = device_power_sums(X, trees, products, 1.0, numpy_gpu())
    expected = hb.head_entropy(X, {"query": trees[0], "key": trees[1]}, 7)
    assert_close(found.chosen, expected.raw, np.float32)


@pytest.mark.gpu
@pytest.mark.parametrize("size", [1.0, 2.0**300])
def test_entropies_of_tensors_on_the_device_are_those_of_the_cpu(rng, size):
    torch = pytest.importorskip("torch")
    X = size * rng.normal(size=(20, 30, 6))
    trees = {"query": random_tree(rng, 20), "key": random_tree(rng, 30), "head": random_tree(rng, 6)}
    on_device = torch.tensor(X).permute(2, 0, 1).contiguous().cuda().permute(1, 2, 0)
    for entropy in (hb.head_entropy, hb.network_entropy):
        found, expected = entropy(on_device, trees, 50), entropy(X, trees, 50)
        for field in dataclasses.fields(expected):
            assert_close(getattr(found, field.name), getattr(expected, field.name))
