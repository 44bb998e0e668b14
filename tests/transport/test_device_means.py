import numpy as np
import pytest

import haarbor as hb
from haarbor.transport import DeviceFolderMeans, FolderMeans, device_bytes
from tests.assertions import assert_close
from tests.engines.numpy_device import NumpyDevice, numpy_gpu
from tests.samples import CHAINED, HALVES, random_tree

AXES = ("query", "key", "head")
EXPONENTS = {"query": (0.5, 1.0), "key": (0.0, 0.5), "head": (1.0, 0.0), "batch": (0.0, 1.0)}

each_engine = pytest.mark.parametrize(
    "engine",
    [pytest.param(numpy_gpu, id="numpy"), pytest.param(hb.GpuEngine, marks=pytest.mark.gpu, id="cuda")],
)


def on_both(tensor, axes, engine):
    gpu = engine()
    return FolderMeans(tensor, axes), DeviceFolderMeans(gpu.device.xp.asarray(tensor), axes, gpu), gpu


@each_engine
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("parts", [("ground", "raised"), ("raised",), ()])
@pytest.mark.parametrize("axis", AXES)
def test_sums_are_those_of_the_cpu(rng, engine, axis, parts, dtype):
    tensor = rng.normal(size=(4, 5, 3)).astype(dtype)
    trees = {"query": HALVES, "key": CHAINED, "head": random_tree(rng, 3)}
    others = {name: tree for name, tree in trees.items() if name != axis}
    cpu, means, gpu = on_both(tensor, AXES, engine)
    found = gpu.device.on_host(means.l1_sums(axis, others, EXPONENTS, gpu, ground_parts=parts))
    expected = cpu.l1_sums(axis, others, EXPONENTS, hb.CpuEngine(1), ground_parts=parts)
    assert_close(found, expected, dtype)
    assert means.outer_axes(axis) == cpu.outer_axes(axis)


@each_engine
@pytest.mark.parametrize(
    ("shape", "axes"), [((6, 7), AXES[:2]), ((3, 4, 2, 5), ("query", "key", "batch", "head"))]
)
def test_matrices_and_tensors_of_four_axes_are_summed_too(rng, engine, shape, axes):
    tensor = rng.normal(size=shape)
    trees = {axis: random_tree(rng, n) for axis, n in zip(axes, shape, strict=True)}
    cpu, means, gpu = on_both(tensor, axes, engine)
    for axis in axes:
        others = {name: tree for name, tree in trees.items() if name != axis}
        found = gpu.device.on_host(means.l1_sums(axis, others, EXPONENTS, gpu))
        assert_close(found, cpu.l1_sums(axis, others, EXPONENTS, hb.CpuEngine(1)))


def test_folders_that_do_not_fit_at_once_are_summed_in_blocks(rng):
    tensor = rng.normal(size=(40, 300, 70))
    trees = {"query": random_tree(rng, 40), "key": random_tree(rng, 300)}
    sums = []
    for free in (1 << 40, 1 << 20):
        gpu = hb.GpuEngine(NumpyDevice(free))
        steps = []
        plain = gpu.device.outer_sums
        gpu.device.outer_sums = lambda *given: steps.append(given[4]) or plain(*given)  # noqa: B023
        sums.append(DeviceFolderMeans(tensor, AXES, gpu).l1_sums("head", trees, EXPONENTS, gpu))
        assert (len(steps) > 2) == (free == 1 << 20)
    assert_close(sums[1], sums[0])


def test_half_precision_is_stored_as_it_is_and_summed_in_float32(rng):
    tensor = rng.normal(size=(4, 5, 3)).astype(np.float16)
    gpu = numpy_gpu()
    means = DeviceFolderMeans(tensor, AXES, gpu)
    trees = {"query": HALVES, "key": CHAINED}
    expected = FolderMeans(tensor.astype(np.float32), AXES).l1_sums("head", trees, EXPONENTS, hb.CpuEngine(1))
    assert_close(means.l1_sums("head", trees, EXPONENTS, gpu), expected, np.float32)


def test_slices_hold_every_entry_once(rng):
    tensor = rng.normal(size=(4, 5, 3))
    means = DeviceFolderMeans(tensor, AXES, numpy_gpu())
    for place, axis in enumerate(AXES):
        columns = np.concatenate(list(means.slices(axis)))
        n_items = tensor.shape[place]
        assert (columns[:, n_items:] == 0).all()
        expected = np.moveaxis(tensor, place, 0).reshape(n_items, -1)
        assert (np.sort(columns[:, :n_items].T) == np.sort(expected)).all()


def test_a_tensor_stored_head_first_is_not_copied(rng):
    stored = rng.normal(size=(3, 4, 5))
    means = DeviceFolderMeans(np.moveaxis(stored, 0, 2), AXES, numpy_gpu())
    assert np.shares_memory(means._tensor, stored)


def test_weights_that_are_too_large_are_refused(rng):
    gpu = numpy_gpu()
    means = DeviceFolderMeans(rng.normal(size=(4, 5, 3)), AXES, gpu)
    trees = {"query": HALVES, "key": CHAINED}
    with pytest.raises(hb.SettingError, match="alpha and beta must keep the weights of folders below"):
        means.l1_sums("head", trees, dict.fromkeys(AXES, (-40.0, 0.0)), gpu)


def test_memory_counts_the_tensor_only_where_it_is_copied():
    shape = (2048, 2048, 1024)
    assert (
        device_bytes(shape, 2, copied=True) - device_bytes(shape, 2, copied=False) == 2 * 2048 * 2048 * 1024
    )
    assert 0.2e9 < device_bytes(shape, 2, copied=False) < 0.4e9
