import sys
import types
from importlib import resources

import numpy as np
import pytest

import haarbor as hb
from haarbor.engines._cuda_device import CudaDevice
from tests.assertions import assert_close
from tests.engines.numpy_device import NumpyDevice


def cupy_with(monkeypatch, count):
    """A module called cupy whose driver answers `count`, or raises it."""

    def devices():
        if isinstance(count, Exception):
            raise count
        return count

    module = types.ModuleType("cupy")
    module.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDeviceCount=devices))
    monkeypatch.setitem(sys.modules, "cupy", module)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, "needs a CUDA device; CuPy finds none. Check the driver with nvidia-smi, or use engine='cpu'."),
        (
            RuntimeError("cudaErrorInsufficientDriver: CUDA driver\nis too old"),
            r"CuPy finds none \(cudaErrorInsufficientDriver: CUDA driver\). Check the driver",
        ),
    ],
)
def test_a_machine_without_a_device_is_told_in_one_line(monkeypatch, count, message):
    cupy_with(monkeypatch, count)
    with pytest.raises(hb.EngineError, match=message) as refusal:
        CudaDevice()
    assert "\n" not in str(refusal.value)


def test_a_cupy_of_another_cuda_version_is_told_in_one_line(monkeypatch):
    class Broken(types.ModuleType):
        def __getattr__(self, name):
            raise ImportError("libnvrtc.so.12: cannot open shared object file\n  more")

    monkeypatch.setitem(sys.modules, "cupy", Broken("cupy"))
    with pytest.raises(hb.EngineError, match=r"\(libnvrtc.so.12: cannot open shared object file\)"):
        CudaDevice()


@pytest.mark.parametrize("file", ["_pair_sums.cu", "_folder_sums.cu", "_folder_rows.cu"])
def test_the_kernels_are_part_of_the_package(file):
    assert "__global__" in resources.files("haarbor.engines").joinpath(file).read_text("utf-8")


@pytest.mark.gpu
@pytest.mark.parametrize("square", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_items", "n_features"), [(1, 1), (5, 3), (64, 17), (100, 2100), (700, 300)])
def test_sums_over_pairs_are_those_of_numpy(rng, n_items, n_features, dtype, square):
    device = CudaDevice()
    tiles = device.tiles(n_items, np.dtype(dtype))
    features = np.zeros((n_features, tiles.pitch), dtype)
    features[:, :n_items] = rng.normal(size=(n_features, n_items))
    total = device.xp.ones((n_items, n_items))
    device.add_pair_sums(device.xp.asarray(features), n_items, total, square=square)
    exact = features[:, :n_items].astype(float)
    differences = np.stack([np.abs(exact - exact[:, [i]]) ** (2 if square else 1) for i in range(n_items)])
    found = device.on_host(total)
    assert (found == found.T).all()
    # What was there before stays, on the diagonal too.
    assert_close(found, 1 + differences.sum(axis=1), dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("items_are_columns", [False, True])
@pytest.mark.parametrize(
    ("stored", "dtype"),
    [(np.float16, np.float32), (np.float32, np.float32), (np.float32, np.float64), (np.float64, np.float64)],
)
def test_sums_over_folders_are_those_of_the_plain_loops(rng, stored, dtype, items_are_columns):
    device, plain = CudaDevice(), NumpyDevice()
    n_rows, n_columns = 37, 70
    n_features, n_items = (n_rows, n_columns) if items_are_columns else (n_columns, n_rows)
    flat = rng.normal(size=5 * n_rows * n_columns).astype(stored)
    offsets, begins = n_rows * n_columns * np.array([0, 3, 4, 1, 2, 3]), np.array([0, 1, 3, 3, 6])
    scale = rng.random(4).astype(dtype)
    rest = ((1, 4), n_columns, n_features, n_items, 128, items_are_columns)
    expected = plain.outer_sums(flat, offsets, begins, scale, *rest)
    on_device = [device.xp.asarray(array) for array in (flat, offsets, begins, scale)]
    found = device.outer_sums(*on_device, *rest)
    assert_close(device.on_host(found), expected, dtype)
    children = np.array([0, 5, n_features, 2, n_features + 1, n_features], np.int32)
    child_begins, weights = np.array([0, 2, 4, 6], np.int32), rng.random(3).astype(dtype)
    expected = plain.raised_sums(expected, children, child_begins, weights)
    found = device.raised_sums(
        found, *(device.xp.asarray(array) for array in (children, child_begins, weights))
    )
    assert_close(device.on_host(found), expected, dtype)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 300, 20_001])
def test_sums_over_folders_of_rows_are_those_of_numpy(rng, n_columns, dtype):
    device, plain = CudaDevice(), NumpyDevice()
    rows = rng.normal(size=(9, n_columns)).astype(dtype)
    threes = rng.permuted(np.tile(np.arange(9), (40, 1)), axis=1)[:, :3]
    shares = rng.random((40, 2))
    held = device.xp.asarray(rows)
    pairs = threes[:, :2]
    assert_close(device.pair_distances(held, pairs), plain.pair_distances(rows, pairs), dtype)
    found = device.rotation_sums(held, threes, shares)
    assert_close(found, plain.rotation_sums(rows, threes, shares), dtype)
    # The same rows give the same bits, wherever they are.
    assert (device.pair_distances(held, pairs) == device.pair_distances(held, pairs[:, ::-1])).all()


@pytest.mark.gpu
def test_the_smallest_numbers_of_float32_are_not_zero_in_float64():
    device = CudaDevice()
    smallest = device.xp.asarray(np.array([1e-45, 0.0, 3e-40, 1.0], np.float32))
    places = [device.xp.asarray(np.array(values)) for values in ([0], [0, 1], [1.0])]
    found = device.outer_sums(smallest, *places, (0, 1), 2, 2, 2, 64, False)
    expected = np.array([[1e-45, 3e-40], [0.0, 1.0]], np.float32).astype(float)
    assert (device.on_host(found)[0, :, :2] == expected).all()


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_extremes_are_those_of_numpy_and_nan_is_one(rng, dtype):
    device = CudaDevice()
    for size in (1, 300, 100_001):
        numbers = rng.normal(size=size).astype(dtype)
        assert device.extremes(device.xp.asarray(numbers)) == (numbers.min(), numbers.max())
        numbers[size // 2] = np.nan
        assert np.isnan(device.extremes(device.xp.asarray(numbers))).all()


@pytest.mark.gpu
def test_running_out_of_memory_is_told_in_one_line():
    device = CudaDevice()
    with (
        pytest.raises(hb.EngineError, match="the GPU must have memory for this work"),
        device.one_line_errors(),
    ):
        device.xp.zeros(1 << 50)
