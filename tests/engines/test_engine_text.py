import numpy as np

import haarbor as hb
from haarbor.engines import engine_named, engine_text


class Elsewhere:
    name = "elsewhere"

    def l1_sums(self, blocks, n_items, n_targets):
        return np.zeros((n_targets, n_items, n_items))


def test_an_engine_is_told_with_its_threads():
    assert engine_text(hb.CpuEngine(1)) == "cpu, 1 thread"
    assert engine_text(hb.CpuEngine(3)) == "cpu, 3 threads"
    assert engine_text(Elsewhere()) == "elsewhere"


def test_what_auto_picked_is_told(monkeypatch):
    monkeypatch.setenv("HAARBOR_NUM_THREADS", "5")
    assert engine_text(engine_named("auto")) == "cpu, 5 threads"
