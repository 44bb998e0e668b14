import numpy as np
import pytest

import haarbor as hb
from haarbor.questionnaire import _organize
from haarbor.questionnaire._device_descent import haar_device_bytes
from tests.assertions import assert_close
from tests.engines.numpy_device import NumpyDevice, numpy_gpu

each_engine = pytest.mark.parametrize(
    "engine",
    [pytest.param(numpy_gpu, id="numpy"), pytest.param(hb.GpuEngine, marks=pytest.mark.gpu, id="cuda")],
)


@pytest.fixture
def tensor(rng):
    latent = [rng.random((n, 3)) for n in (12, 10, 7)]
    return np.einsum("qa,ka,ha->qkh", *latent) + 0.05 * rng.random((12, 10, 7))


def assert_same(gpu, cpu, dtype):
    assert gpu.settings.engine == "gpu"
    assert gpu.n_iterations == cpu.n_iterations
    for axis in cpu.axes:
        assert gpu.history[axis] == cpu.history[axis], f"the trees of {axis} differ"
        assert_close(gpu.affinities[axis], cpu.affinities[axis], dtype)


@each_engine
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("given", [{}, {"restraint": 0.0}, {"restraint": 0.2, "n_iterations": 1}], ids=repr)
def test_trees_and_affinities_are_those_of_the_cpu(tensor, engine, given, dtype):
    X = tensor.astype(dtype)
    options = {"tree": "haar", **given}
    assert_same(hb.organize(X, engine=engine(), **options), hb.organize(X, engine="cpu", **options), dtype)


@each_engine
def test_masked_logits_are_organised_too(tensor, engine):
    mask = np.tri(12, 10, dtype=bool)
    gpu, cpu = (hb.organize(tensor, mask=mask, tree="haar", engine=which) for which in (engine(), "cpu"))
    assert cpu.settings.masked_entries == "row mean of valid logits"
    assert_same(gpu, cpu, np.float64)


@each_engine
@pytest.mark.parametrize("size", [2.0**-900, 2.0**900])
def test_very_large_and_very_small_numbers_are_scaled(tensor, engine, size):
    gpu, cpu = (hb.organize(size * tensor, tree="haar", engine=which) for which in (engine(), "cpu"))
    assert_same(gpu, cpu, np.float64)


@each_engine
def test_matrices_and_given_starts_are_organised_too(rng, engine):
    X = rng.random((20, 3)) @ rng.random((3, 17))
    start = {"query": hb.haar_tree(X, engine="cpu")}
    gpu, cpu = (hb.organize(X, tree="haar", start=start, engine=which) for which in (engine(), "cpu"))
    assert_same(gpu, cpu, np.float64)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_tensor_on_the_device_stays_there(tensor, dtype):
    import cupy

    X = tensor.astype(dtype)
    gpu = hb.organize(cupy.asarray(X), tree="haar")
    assert_same(gpu, hb.organize(X, tree="haar", engine="cpu"), np.float32)


def test_a_device_without_room_is_told_before_the_work_starts(tensor):
    needed = haar_device_bytes(tensor.shape, 8, copied=True)
    assert needed == 840 * (8 + 24) + 8 * 12**2
    hb.organize(tensor, tree="haar", engine=hb.GpuEngine(NumpyDevice(free=1 << 30)))
    with pytest.raises(hb.EngineError, match=r"the Haar trees of a tensor of shape \(12, 10, 7\) would take"):
        hb.organize(tensor, tree="haar", engine=hb.GpuEngine(NumpyDevice(free=needed - 1)))


def test_auto_asks_for_the_memory_of_haar_trees(tensor, monkeypatch):
    asked = {}

    def named(engine, *, n_bytes, **given):
        asked[n_bytes] = engine
        return hb.CpuEngine(1)

    monkeypatch.setattr(_organize, "engine_named", named)
    hb.organize(tensor, tree="haar", n_iterations=1)
    assert asked == {haar_device_bytes(tensor.shape, 4, copied=True): "auto"}
