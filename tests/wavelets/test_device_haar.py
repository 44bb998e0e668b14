import numpy as np
import pytest

import haarbor as hb
from haarbor.wavelets._device_haar import device_coefficients, is_ordinary
from tests.assertions import assert_close
from tests.engines.numpy_device import NumpyDevice, numpy_gpu
from tests.samples import CHAINED, HALVES, random_tree

each_engine = pytest.mark.parametrize(
    "engine",
    [pytest.param(numpy_gpu, id="numpy"), pytest.param(hb.GpuEngine, marks=pytest.mark.gpu, id="cuda")],
)


@each_engine
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("places", [(0,), (1,), (2,), (0, 2), (0, 1, 2), ()])
def test_coefficients_are_those_of_the_cpu(rng, engine, places, dtype):
    gpu = engine()
    X = rng.normal(size=(4, 5, 3)).astype(dtype)
    trees = {0: HALVES, 1: CHAINED, 2: random_tree(rng, 3)}
    chosen = {place: trees[place] for place in places}
    found = gpu.device.on_host(device_coefficients(gpu.device.xp.asarray(X), chosen, gpu))
    names = ("query", "key", "head")
    expected = hb.haar_transform(X, {names[place]: tree for place, tree in chosen.items()}, names)
    assert found.dtype == expected.dtype
    assert_close(found, expected, found.dtype)


def test_a_single_item_keeps_its_value():
    one = hb.PartitionTree([[0]])
    assert device_coefficients(np.array([[3.0, -2.0]]), {0: one}, numpy_gpu()).tolist() == [[3.0, -2.0]]


def test_columns_that_do_not_fit_at_once_are_done_in_pieces(rng):
    X = rng.normal(size=(20, 6000))
    trees = {0: random_tree(rng, 20)}
    small = hb.GpuEngine(NumpyDevice(free=6 << 20))
    assert small.chunk_bytes < 24 * X.size
    assert (device_coefficients(X, trees, small) == device_coefficients(X, trees, numpy_gpu())).all()


def test_coefficients_that_do_not_fit_are_refused(rng):
    with pytest.raises(hb.EngineError, match=r"the Haar coefficients of shape \(4, 5\) would take 160 bytes"):
        device_coefficients(rng.normal(size=(4, 5)), {0: HALVES}, hb.GpuEngine(NumpyDevice(free=100)))


@pytest.mark.parametrize(
    ("dtype", "largest", "expected"),
    [
        (np.float32, 1.0, True),
        (np.float32, 2.0**40, False),
        (np.float64, 2.0**40, True),
        (np.float64, 2.0**-300, False),
        (np.float16, 6e-8, True),
    ],
)
def test_numbers_of_ordinary_size_are_recognised(dtype, largest, expected):
    assert is_ordinary(np.array([0, -largest], dtype), numpy_gpu()) == expected


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(value):
    with pytest.raises(hb.DataError, match="every entry must be finite; found NaN or an infinity"):
        is_ordinary(np.array([1.0, value]), numpy_gpu())


@pytest.mark.gpu
def test_transforms_of_tensors_on_the_device_stay_there(rng):
    torch = pytest.importorskip("torch")
    X, tree = rng.normal(size=(4, 6)), random_tree(rng, 6)
    for size in (1.0, 2.0**300):
        found = hb.haar_transform(torch.tensor(size * X).cuda(), {"key": tree})
        assert_close(found.get(), hb.haar_transform(size * X, {"key": tree}))
        norm = hb.haar_l1(size * X, {"key": tree})
        assert hb.haar_l1(torch.tensor(size * X).cuda(), {"key": tree}) == pytest.approx(norm, rel=1e-12)
