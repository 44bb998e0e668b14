import numpy as np
import pytest

import haarbor as hb
from haarbor.engines import engine_named


class Counting:
    name = "counting"

    def l1_sums(self, blocks, n_items, n_targets):
        return np.zeros((n_targets, n_items, n_items))


@pytest.mark.parametrize("name", ["auto", "cpu"])
def test_the_cpu_engine_answers_to_its_names(name):
    assert isinstance(engine_named(name), hb.CpuEngine)


def test_an_engine_object_is_used_as_it_is():
    engine = Counting()
    assert engine_named(engine) is engine
    assert isinstance(engine, hb.L1Engine)


def test_the_gpu_is_refused_with_a_way_out():
    with pytest.raises(hb.EngineError, match=r"engine='gpu' is not part of this version.*engine='cpu'"):
        engine_named("gpu")


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


class Returning:
    """An engine that returns what it was made with, as a function of the numbers of items and targets."""

    name = "returning"

    def __init__(self, result):
        self.result = result

    def l1_sums(self, blocks, n_items, n_targets):
        return self.result(n_items, n_targets)


class Nameless:
    def l1_sums(self, blocks, n_items, n_targets):
        return np.zeros((n_targets, n_items, n_items))


class Numbered(Nameless):
    name = 7


class Unready:
    name = "unready"
    l1_sums = None


@pytest.mark.parametrize("engine", [Nameless(), Numbered(), Unready(), hb.CpuEngine, Nameless])
def test_engines_without_a_name_or_sums_are_refused(engine, rng):
    with pytest.raises(hb.SettingError, match="must have a name and an l1_sums method; found"):
        hb.organize(rng.random((4, 4)), engine=engine)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (
            lambda n, t: np.zeros((n, n)),
            hb.EngineError,
            r"shape \(3, 4, 4\), .*; found \(4, 4\). Correct the engine",
        ),
        (lambda n, t: np.full((t, n, n), np.nan), hb.EngineError, r"finite .*; found nan at \(0, 0, 0\)"),
        (lambda n, t: -np.ones((t, n, n)), hb.EngineError, "finite and non-negative; found -1.0 at"),
        (
            lambda n, t: None,
            hb.ShapeError,
            "what l1_sums of engine 'returning' returns must hold real numbers",
        ),
        (lambda n, t: np.zeros((t, n, n), complex), hb.ShapeError, "found dtype complex128"),
        (lambda n, t: np.triu(np.ones((t, n, n)), 1), hb.AffinityError, "distances must be symmetric"),
    ],
)
def test_what_an_engine_returns_is_checked(rng, result, error, message):
    with pytest.raises(error, match=message):
        hb.organize(rng.random((4, 4)), engine=Returning(result))
