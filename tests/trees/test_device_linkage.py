import numpy as np
import pytest

import haarbor as hb
from haarbor.trees import depth_price, device_row_distances, linked_folders, rotate, row_distances
from haarbor.trees._device_linkage import write_device_mean
from tests.assertions import assert_close
from tests.engines.numpy_device import numpy_gpu
from tests.trees.haar_folders import folders_of

each_engine = pytest.mark.parametrize(
    "engine",
    [pytest.param(numpy_gpu, id="numpy"), pytest.param(hb.GpuEngine, marks=pytest.mark.gpu, id="cuda")],
)


def device_folders(rows, engine, restraint=None):
    """Linked folders of rows on the device, rotated if a restraint is given."""
    n, xp = rows.shape[0], engine.device.xp
    means = xp.empty((2 * n - 1, rows.shape[1]), rows.dtype)
    means[:n] = xp.asarray(rows)
    found = linked_folders(means, device_row_distances(means[:n], engine), engine.device)
    if restraint is not None:
        rotate(found, depth_price(restraint, found.norm, n), 1)
    return found


@each_engine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(2, 1), (9, 5), (40, 700), (33, 9001)])
@pytest.mark.parametrize("restraint", [None, 0.0, 0.05])
def test_joins_and_rotations_are_those_of_the_host(rng, engine, shape, dtype, restraint):
    rows = (rng.integers(0, 4, (shape[0], 1)) + rng.normal(size=shape)).astype(dtype)
    found, expected = device_folders(rows, engine(), restraint), folders_of(rows, restraint)
    assert found.left.tolist() == expected.left.tolist()
    assert found.right.tolist() == expected.right.tolist()
    assert_close(found.terms, expected.terms, dtype)
    assert found.norm == pytest.approx(expected.norm, rel=1e-5)
    assert_close(engine().device.on_host(found.means), expected.means, dtype)


@each_engine
def test_of_equal_terms_the_same_pair_joins_as_on_the_host(rng, engine):
    # Corners of a square, four times each: all means are halves, so that equal terms have equal bits.
    rows = rng.permutation(np.tile([[0, 0], [0, 8], [8, 0], [8, 8]], (4, 1))).astype(np.float32)
    found, expected = device_folders(rows, engine()), folders_of(rows)
    assert np.unique(expected.terms[16:]).size == 3
    assert found.left.tolist() == expected.left.tolist()
    assert found.right.tolist() == expected.right.tolist()


@each_engine
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_are_those_of_the_cpu_engine(rng, engine, dtype, monkeypatch):
    gpu = engine()
    rows = rng.normal(size=(21, 2500)).astype(dtype)
    expected = row_distances(rows, hb.CpuEngine(1))
    assert_close(device_row_distances(gpu.device.xp.asarray(rows), gpu), expected, dtype)
    # In pieces of some columns.
    monkeypatch.setattr(hb.GpuEngine, "chunk_bytes", 100_000)
    assert_close(device_row_distances(gpu.device.xp.asarray(rows), gpu), expected, dtype)


def test_a_mean_by_hand():
    means = np.array([[0.0, 4.0], [8.0, 0.0], [0.0, 0.0]])
    write_device_mean(means, (0, 1), 0.25, 2)
    assert means[2].tolist() == [6.0, 1.0]


@each_engine
def test_a_haar_tree_of_rows_is_that_of_the_cpu(rng, engine):
    rows = rng.random((25, 3)) @ rng.random((3, 60))
    assert hb.haar_tree(rows, engine=engine()) == hb.haar_tree(rows, engine="cpu")
    assert hb.haar_tree([[1.0, 2.0]], engine=engine()) == hb.haar_tree([[1.0, 2.0]], engine="cpu")
