"""How large and how fast a network is."""

import pytest
import torch

from haarbor.pruning import _footprint as footprint
from haarbor.pruning import calibration_pass, footprints, n_parameters, prune_heads
from tests.pruning.small_networks import batches, network


def test_the_footprint_of_a_smaller_network_is_smaller():
    model, data = network("gpt2"), batches("gpt2")
    heads = calibration_pass(model, data).heads
    smaller = prune_heads(model, heads, [(0, 0), (1, 1)], batch=data[0])
    whole, less = footprints((model, smaller), data[0], n_runs=2)
    assert whole.n_bytes == 4 * n_parameters(model)
    assert less.n_bytes == 4 * n_parameters(smaller) < whole.n_bytes
    assert less.seconds > 0


class _OnGpu(torch.nn.Module):
    """Says that its weights are on a GPU."""

    def parameters(self, recurse=True):
        weight = torch.nn.Parameter(torch.zeros(3))
        weight.__class__ = type("Elsewhere", (torch.nn.Parameter,), {"device": torch.device("cuda", 1)})
        return iter([weight])


def test_the_clock_waits_for_the_gpu_before_and_after_each_forward(monkeypatch):
    events = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: events.append(str(device)))
    monkeypatch.setattr(footprint, "forward", lambda _model, _batch: events.append("forward"))
    clock = iter(range(100))

    def perf_counter():
        events.append("clock")
        return next(clock)

    monkeypatch.setattr(footprint.time, "perf_counter", perf_counter)
    (found,) = footprints((_OnGpu(),), batches("llama")[0], n_runs=1)
    assert events == ["cuda:1", "clock", "forward", "cuda:1", "cuda:1", "clock", "forward", "cuda:1", "clock"]
    assert found.seconds == 1


def test_the_clock_waits_for_nothing_on_the_processor(monkeypatch):
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: pytest.fail("there is no GPU"))
    assert footprints((network("gpt2"),), batches("gpt2")[0], n_runs=1)[0].seconds > 0
