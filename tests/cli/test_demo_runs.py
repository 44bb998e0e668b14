"""Runs of the networks inside the package."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from haarbor.cli._demo_runs import embedded_run
from haarbor.errors import StoreError


@pytest.mark.slow
def test_a_complete_run_is_used_as_it_is_and_another_is_refused(tmp_path):
    place = tmp_path / "transformer-xl.zarr"
    steps = []
    for _ in range(2):
        steps.append(set())
        run = embedded_run(
            "transformer-xl",
            place,
            n_batches=1,
            n_tokens=8,
            on_progress=lambda step, _done, _total: steps[-1].add(step),
        )
    assert set(run.contents) == {"probabilities", "logits"}
    assert run.tensor(0).shape == (8, 8, 48)
    assert run.plan.settings["command"] == (
        "haarbor capture zoo:transformer-xl --data zoo --out transformer-xl.zarr --tokens 8 --batches 1 "
        "--logits --dtype float16"
    )
    assert steps[0] > steps[1] == {"loading"}
    with pytest.raises(StoreError, match="tokens"):
        embedded_run("transformer-xl", place, n_batches=1, n_tokens=9, on_progress=lambda *_: None)
