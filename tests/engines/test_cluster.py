import sys

import pytest

import haarbor as hb
from haarbor.engines import engine_named


def test_the_cluster_answers_to_its_name_without_starting_anything():
    engine = engine_named("cluster")
    assert isinstance(engine, hb.ClusterEngine)
    assert engine.name == "cluster"
    assert engine.scheduler is None


@pytest.mark.parametrize("address", ["", "  ", 8786, ["tcp://a:1"]])
def test_an_address_must_be_a_text(address):
    with pytest.raises(hb.SettingError, match=r"scheduler must be an address like tcp://host:8786; found"):
        hb.ClusterEngine(address)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "60"])
def test_patience_must_be_a_number(seconds):
    with pytest.raises(hb.SettingError, match="patience_seconds must be a number"):
        hb.ClusterEngine(patience_seconds=seconds)


def test_workers_are_of_a_cluster_on_this_machine():
    with pytest.raises(hb.SettingError, match="workers must go with a cluster on this machine"):
        hb.ClusterEngine("tcp://a:1", workers=2)
    with pytest.raises(hb.SettingError, match="workers must be"):
        hb.ClusterEngine(workers=0)


def test_an_array_in_memory_is_refused_at_once(rng):
    with pytest.raises(hb.EngineError, match=r"must have a run to work on.*found an array in memory"):
        hb.organize(rng.random((4, 5, 3)), engine="cluster")


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(hb.EngineError, match=r"needs dask and distributed.*pip install 'haarbor\[cluster\]'"):
        hb.ClusterEngine().session()
