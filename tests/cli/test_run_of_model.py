import pytest

pytest.importorskip("torch")

import torch

from haarbor.capturing import weights_digest
from haarbor.cli._run_of_model import require_run_of
from haarbor.errors import DataError
from haarbor.store import RunPlan, StreamPlan, create_run, open_run
from tests.pruning.small_networks import batches, network


def planned(place, settings, *, n_layers=3, n_heads=4):
    stream = StreamPlan(name="self", n_layers=n_layers, n_heads=n_heads, n_queries=4, n_keys=4)
    with create_run(place, RunPlan(model="made up", streams=(stream,), n_batches=1, settings=settings)):
        pass
    return open_run(place)


def passes(model):
    seen = []
    model.register_forward_pre_hook(lambda *_: seen.append(1))
    return seen


def test_another_network_is_refused_before_it_runs(tmp_path):
    model = network("zoo-vit")
    seen = passes(model)
    run = planned(tmp_path / "run", {"weights": "sha256:another"})
    with pytest.raises(DataError, match="its weights are sha256:another, and those of the model are sha256:"):
        require_run_of(run, model, batches("zoo-vit"))
    assert seen == []


def test_the_same_weights_are_known_in_any_precision(tmp_path):
    model = network("zoo-vit")
    digest = weights_digest(model)
    run = planned(tmp_path / "run", {"weights": digest, "model_dtype": "float32"})
    seen = passes(model)
    assert require_run_of(run, model, []) == digest
    assert require_run_of(run, model.double(), []) == digest
    assert next(model.parameters()).dtype == torch.float64
    assert seen == []


def test_heads_are_counted_where_a_run_has_no_digest(tmp_path):
    model = network("zoo-vit")
    n_heads = model.config.n_heads
    seen = passes(model)
    require_run_of(planned(tmp_path / "own", {}, n_heads=n_heads), model, batches("zoo-vit"))
    with pytest.raises(DataError, match=f"it has {3 * n_heads + 3} heads, and the model has {3 * n_heads}"):
        require_run_of(planned(tmp_path / "other", {}, n_heads=n_heads + 1), model, batches("zoo-vit"))
    assert len(seen) == 2
