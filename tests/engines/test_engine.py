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
    with pytest.raises(hb.SettingError, match="engine must be 'auto', 'cpu', 'gpu' or an engine object"):
        engine_named(name)


@pytest.mark.parametrize("thing", [None, 3, object(), hb.CpuEngine().l1_sums])
def test_objects_that_are_no_engine_are_refused(thing):
    with pytest.raises(hb.SettingError, match="must have a name and an l1_sums method; found"):
        engine_named(thing)
