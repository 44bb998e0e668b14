import csv
import json

import numpy as np
import pytest

from haarbor.diagnostics import run_diagnostics
from haarbor.store import open_run
from tests.report.runs import text_run


@pytest.fixture
def place(tmp_path):
    text_run(tmp_path / "run.zarr", n_batches=2, n_tokens=10, n_layers=2, heads=3)
    return tmp_path / "run.zarr"


def test_organize_names_the_types_and_writes_one_table(command, place, tmp_path):
    done = command("organize", place, "--iterations", 1, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "Types of heads: " in done.out
    assert "head_scores.csv" in done.out
    with (tmp_path / "out" / "head_scores.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["head"] for row in rows] == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    kept = run_diagnostics(open_run(place))
    mean = np.mean([one.figures["first_token"] for one in kept], axis=0)
    np.testing.assert_allclose([float(row["first-token"]) for row in rows], mean, rtol=1e-9)
    assert all(row["type"] and row["entropy"] for row in rows)


def test_info_tells_the_types(command, place):
    assert json.loads(command("info", place, "--json").out)["head_types"] == {}
    run_diagnostics(open_run(place))
    types = json.loads(command("info", place, "--json").out)["head_types"]["self"]
    assert sorted(head for heads in types.values() for head in heads) == [
        "0.0",
        "0.1",
        "0.2",
        "1.0",
        "1.1",
        "1.2",
    ]
    assert "head types" in command("info", place).out


def test_an_array_of_other_numbers_is_organised_without_diagnostics(command, tmp_path, rng):
    np.save(tmp_path / "x.npy", rng.uniform(0.5, 2, size=(3, 8, 8)))
    done = command("organize", tmp_path / "x.npy", "--axes", "head,query,key", "-o", tmp_path / "out")
    assert done.code == 0, done.err
    assert "Without head diagnostics: head diagnostics need attention probabilities" in done.err
    assert "Types of heads" not in done.out
