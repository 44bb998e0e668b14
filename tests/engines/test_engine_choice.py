import sys
import warnings

import numpy as np
import pytest

import haarbor as hb
from haarbor.engines import _engine_choice, engine_named
from tests.engines.numpy_device import numpy_gpu

LARGE = {"n_differences": 10**13, "n_bytes": 10**9}


class Counting:
    name = "counting"

    def l1_sums(self, blocks, n_items, n_targets):
        return np.zeros((n_targets, n_items, n_items))


@pytest.mark.parametrize("name", ["auto", "cpu"])
def test_the_cpu_engine_answers_to_its_names(name):
    assert isinstance(engine_named(name), hb.CpuEngine)


def test_an_engine_object_is_used_as_it_is():
    engine = Counting()
    assert engine_named(engine, **LARGE) is engine
    assert isinstance(engine, hb.L1Engine)


@pytest.mark.parametrize("name", ["tpu", "CPU", ""])
def test_unknown_engines_are_refused(name):
    with pytest.raises(
        hb.SettingError, match="engine must be 'auto', 'cpu', 'gpu', 'cluster' or an engine object"
    ):
        engine_named(name)


@pytest.mark.parametrize("thing", [None, 3, object(), hb.CpuEngine().l1_sums])
def test_objects_that_are_no_engine_are_refused(thing):
    with pytest.raises(hb.SettingError, match="must have a name and an l1_sums method; found"):
        engine_named(thing)


@pytest.fixture
def no_cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.setattr(_engine_choice, "find_spec", lambda name: None)


@pytest.fixture
def a_gpu(monkeypatch):
    """A machine with a GPU, as far as the choice can see."""
    monkeypatch.setattr(_engine_choice, "find_spec", lambda name: object())
    monkeypatch.setattr(_engine_choice, "GpuEngine", lambda: numpy_gpu(free=10**10))


def test_without_cupy_the_gpu_is_refused_in_one_line_with_a_way_out(no_cupy):
    with pytest.raises(hb.EngineError) as refusal:
        engine_named("gpu")
    assert str(refusal.value) == (
        "the GPU engine needs CuPy, which is not installed. Run pip install 'haarbor[gpu]', or use "
        "engine='cpu'."
    )


def test_without_cupy_auto_is_the_cpu_and_nothing_is_said(no_cupy):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert engine_named("auto", **LARGE).name == "cpu"


def test_auto_takes_the_gpu_for_large_work_and_the_cores_for_small(a_gpu):
    assert engine_named("auto", **LARGE).name == "gpu"
    assert engine_named("auto", n_differences=10**9, n_bytes=10**6).name == "cpu"
    assert engine_named("cpu", **LARGE).name == "cpu"


def test_data_on_the_device_stays_there(a_gpu):
    assert engine_named("auto", n_differences=1, on_device=True).name == "gpu"


def test_too_little_memory_of_the_gpu_sends_auto_to_the_cpu_and_says_so(a_gpu):
    with pytest.warns(
        hb.EngineWarning,
        match=r"engine='auto' works on the CPU: .* would take 20.0 GB, and 10.0 GB are free on numpy\.",
    ):
        assert engine_named("auto", n_differences=10**13, n_bytes=20 * 10**9).name == "cpu"


def test_a_gpu_that_cannot_be_used_sends_auto_to_the_cpu_and_says_so(a_gpu, monkeypatch):
    def refused():
        raise hb.EngineError("the GPU engine needs a CUDA device; CuPy finds none.")

    monkeypatch.setattr(_engine_choice, "GpuEngine", refused)
    with pytest.warns(hb.EngineWarning, match=r"works on the CPU: .* CuPy finds none"):
        assert engine_named("auto", **LARGE).name == "cpu"


def test_a_large_questionnaire_asks_for_the_gpu_and_a_small_one_does_not(monkeypatch, rng):
    asked = []

    def note(engine, **needs):
        asked.append(needs)
        return hb.CpuEngine()

    monkeypatch.setattr("haarbor.questionnaire._organize.engine_named", note)
    hb.organize(rng.random((4, 5, 3)))
    # 1,024 heads of 2,048 tokens; the rest of the call is stopped by its mask.
    large = np.broadcast_to(np.float32(1), (2048, 2048, 1024))
    with pytest.raises(hb.ShapeError, match="mask must be boolean"):
        hb.organize(large, mask=np.zeros((2, 2)))
    small, huge = asked
    assert small["n_differences"] < 10**5
    # (n_H^2 |T_Q| |T_K| + n_Q^2 |T_K| |T_H| + n_K^2 |T_Q| |T_H|) / 2 with |T| = 1.5 n, three times.
    assert huge["n_differences"] == 3 * (1024**2 * 3072**2 + 2 * 2048**2 * 3072 * 1536) // 2
    assert 17e9 < huge["n_bytes"] < 19e9
