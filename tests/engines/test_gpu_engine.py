import math

import numpy as np
import pytest

import haarbor as hb
from haarbor.engines._pair_tiles import LONGEST_RUN
from tests.assertions import assert_close
from tests.engines.numpy_device import NumpyDevice, numpy_gpu
from tests.engines.test_cpu import Rows, plain_sum, some_blocks

each_engine = pytest.mark.parametrize(
    "engine",
    [pytest.param(numpy_gpu, id="numpy"), pytest.param(hb.GpuEngine, marks=pytest.mark.gpu, id="cuda")],
)


@each_engine
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_items", [1, 2, 12])
def test_sections_of_blocks_add_to_their_targets(rng, engine, n_items, dtype):
    blocks = some_blocks(rng, n_items, dtype)
    found = engine().l1_sums(blocks, n_items, 3)
    assert type(found) is np.ndarray
    assert found.dtype == np.float64
    assert_close(found, plain_sum(blocks, n_items, 3), dtype)
    assert (found == found.transpose(0, 2, 1)).all()
    assert (np.diagonal(found, axis1=1, axis2=2) == 0).all()


@each_engine
def test_sums_of_float32_keep_the_error_bound(rng, engine):
    # The worst for sums in float32: a large term first, and many that are small beside it.
    rows = np.zeros((2, 5000), np.float32)
    rows[0] = 1e-7
    rows[0, ::1000] = 1.0
    exact = math.fsum(rows[0].astype(float))
    found = engine().l1_sums([Rows(rows, [5000], [0])], 2, 1)[0, 0, 1]
    assert abs(found - exact) <= (LONGEST_RUN + 1) * 2.0**-24 * exact


@each_engine
def test_no_blocks_and_empty_blocks_add_nothing(engine):
    assert engine().l1_sums([], 3, 2).tolist() == np.zeros((2, 3, 3)).tolist()
    empty = Rows(np.empty((3, 0)), [0], [0])
    assert (engine().l1_sums([empty], 3, 1) == 0).all()


def test_it_names_itself_and_its_device():
    engine = numpy_gpu()
    assert engine.name == "gpu"
    assert repr(engine) == "GpuEngine(numpy)"
    assert isinstance(engine, hb.L1Engine)


def test_an_engine_in_another_process_finds_its_own_device():
    assert numpy_gpu().__reduce__() == (hb.GpuEngine, ())


def test_what_does_not_fit_is_refused_in_one_line():
    engine = hb.GpuEngine(NumpyDevice(free=5_000_000))
    engine.require_memory(5_000_000, "this")
    with pytest.raises(hb.EngineError) as refusal:
        engine.require_memory(17_000_000_000, "the questionnaire")
    assert str(refusal.value) == (
        "what is held on the GPU must fit into its memory; the questionnaire would take 17.0 GB, and 5.0 MB "
        "are free on numpy. Use engine='cpu', or free memory there."
    )


def test_blocks_of_means_take_a_share_of_what_is_free():
    assert hb.GpuEngine(NumpyDevice(free=60 << 20)).chunk_bytes == 10 << 20
    assert numpy_gpu().chunk_bytes == 1 << 30
