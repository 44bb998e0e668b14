"""Pruning studies kept in runs."""

import numpy as np
import pytest

from haarbor.analysis import keep_pruning, kept_pruning
from haarbor.errors import DataError, StoreError
from haarbor.store import open_run
from tests.analysis.pruning_results import HEALED, pruning_results
from tests.report.runs import text_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return text_run(tmp_path_factory.mktemp("run") / "run.zarr", n_batches=1, n_tokens=12)


def test_what_is_kept_in_a_run_is_read_again(run):
    assert kept_pruning(run) is None
    given = pruning_results(healing=HEALED)
    keep_pruning(run, given)
    found = kept_pruning(open_run(run.location))
    assert found.score == "leftover"
    assert found.verdict() == given.verdict()
    assert dict(found.healing) == HEALED
    assert np.isnan(found.agreement["h400"])
    for name in given.damages:
        np.testing.assert_array_equal(found.damages[name], given.damages[name])
        np.testing.assert_array_equal(found.removed[name], given.removed[name])
    # A later study takes the place of an earlier one.
    keep_pruning(run, pruning_results())
    assert kept_pruning(run).healing == {}


def test_a_run_of_another_network_is_refused(run):
    with pytest.raises(DataError, match="it has 12 heads, and the model has 3"):
        keep_pruning(run, pruning_results(layers=np.zeros(3, dtype=int)))
    # Runs of arrays have no weights: whichever the study had are accepted.
    keep_pruning(run, pruning_results(), weights="sha256:another")


def test_a_damaged_study_is_told(tmp_path):
    run = text_run(tmp_path / "run.zarr", n_batches=1, n_tokens=12)
    keep_pruning(run, pruning_results())
    chunks = [path for path in tmp_path.rglob("*pruning*/**/*") if path.is_file() and "zarr" not in path.name]
    assert chunks
    for chunk in chunks:
        chunk.write_bytes(b"\0" * chunk.stat().st_size)
    with pytest.raises(StoreError):
        kept_pruning(open_run(tmp_path / "run.zarr"))
