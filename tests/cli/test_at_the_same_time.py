"""Several commands on one run at the same time: an answer or one line, never a traceback."""

import numpy as np
import pytest

from haarbor.store import RunPlan, StreamPlan, create_run, open_run
from tests.analysis.logit_runs import logit_run
from tests.cli.builders import started


def assert_told(process):
    """An answer, or one line."""
    out, err = process.communicate(timeout=120)
    lines = [line for line in err.splitlines() if line.startswith("haarbor:")]
    assert "Traceback" not in err
    assert (process.returncode, len(lines)) in ((0, 0), (1, 1)), err
    assert bool(out) == (process.returncode == 0)


@pytest.mark.slow
def test_a_run_organised_twice_and_looked_at(tmp_path):
    run = logit_run(tmp_path / "run", contents=("probabilities",), n_batches=3)
    first, second = started("organize", run.location), started("organize", run.location)
    looks = [started("info", run.location, "--verify") for _ in range(2)]
    for process in (first, second, *looks):
        assert_told(process)
    last = started("organize", run.location, "--json")
    assert_told(last)
    assert last.returncode == 0
    assert run.has_result("consensus")


def test_a_run_organised_while_it_is_captured(command, tmp_path):
    stream = StreamPlan(name="self", n_layers=1, n_heads=2, n_queries=6, n_keys=6)
    plan = RunPlan(model="growing", streams=(stream,), n_batches=2)
    values = np.full((2, 6, 6), 1 / 6)
    with create_run(tmp_path / "run", plan) as writer:
        found = command("organize", tmp_path / "run")
        assert found.code == 1
        assert "must have at least one complete batch" in found.line
        with writer.batch(0) as batch:
            batch.write_mask("self", np.ones((6, 6), dtype=bool))
            batch.write_layer("self", 0, {"probabilities": values + np.eye(6) / 10})
        with writer.batch(1) as batch:
            batch.write_mask("self", np.ones((6, 6), dtype=bool))
            assert command("organize", tmp_path / "run", "--json").code == 0
            batch.write_layer("self", 0, {"probabilities": values})
    assert open_run(tmp_path / "run").batches == (0, 1)
