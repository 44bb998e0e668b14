import numpy as np
import pytest

import haarbor as hb
from haarbor.questionnaire import MemoryPlan, _memory_plan, memory_plan

SHAPE = (300, 200, 400)
TENSOR = 4 * 300 * 200 * 400


@pytest.fixture(autouse=True)
def known_process(monkeypatch):
    """A process of 100 MB on two cores, so that plans do not depend on the machine."""
    monkeypatch.setattr(_memory_plan, "process_memory", lambda: 100_000_000)
    monkeypatch.setattr(_memory_plan, "_CODE", 80_000_000)
    monkeypatch.setattr(_memory_plan, "_MORE_CODE", 80_000_000)
    monkeypatch.setattr(_memory_plan, "usable_cores", lambda: 2)


def test_a_tensor_that_fits_is_held():
    plan = memory_plan(SHAPE, "4GB")
    assert not plan.is_streamed
    assert plan.tensor_bytes == TENSOR
    assert plan.scratch_bytes == 0
    assert plan.peak_bytes > 3 * TENSOR + 100_000_000
    assert str(plan).startswith("the tensor of 96.0 MB fits into 4.0 GB: it is read once and held, ")


def test_a_tensor_that_does_not_fit_is_streamed_within_the_limit():
    plan = memory_plan(SHAPE, "300MB")
    assert plan.is_streamed
    assert plan.peak_bytes <= plan.limit == 300_000_000
    assert plan.scratch_bytes == 3 * TENSOR
    assert "does not fit into 300.0 MB: it is read once into temporary files, up to 288.0 MB" in str(plan)
    assert "by 2 threads" in str(plan)


def test_less_memory_means_fewer_threads_and_then_a_refusal():
    found = [memory_plan(SHAPE, f"{limit}MB").threads for limit in (215, 300)]
    assert found == [1, 2]
    assert "by 1 thread;" in str(memory_plan(SHAPE, "215MB"))
    with pytest.raises(
        hb.SettingError, match=r"one block, (\S+) MB for 300 queries, 200 keys and 400"
    ) as error:
        memory_plan(SHAPE, "200MB")
    # What the message asks for is enough.
    asked = str(error.value).split("memory='")[1].split("'")[0]
    assert memory_plan(SHAPE, asked).threads == 1
    with pytest.raises(hb.SettingError):
        memory_plan(SHAPE, int(asked.removesuffix("MB")) * 10**6 - 10**6)


def test_a_layer_that_is_read_at_once_must_fit():
    assert memory_plan(SHAPE, "300MB", heads_per_block=50).is_streamed
    with pytest.raises(hb.SettingError, match="one block"):
        memory_plan(SHAPE, "300MB", heads_per_block=400)


def test_float64_takes_twice_as_much():
    assert memory_plan(SHAPE, "4GB", itemsize=8).tensor_bytes == 2 * TENSOR


def test_the_plan_is_told_before_the_work_starts():
    class Unread:
        shape, dtype, ndim = SHAPE, np.dtype(np.float32), 3

        def head_blocks(self):
            raise RuntimeError("read")

    told = []
    with pytest.raises(RuntimeError, match="read"):
        hb.organize(Unread(), memory="300MB", on_plan=told.append)
    assert [type(plan) for plan in told] == [MemoryPlan]
    assert told[0].is_streamed


def test_a_tensor_that_is_read_in_place_needs_room_for_sums_only():
    plan = memory_plan(SHAPE, "300MB", in_place=True)
    assert plan.scratch_bytes == 2 * TENSOR
    assert "it is read from its file, once for every tree, with temporary files of up to 192.0 MB" in str(
        plan
    )
