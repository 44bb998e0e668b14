"""haarbor compare --training, as a user types it."""

import csv
import json

import pytest

from haarbor.store import load_results_file
from tests.cli.builders import answer
from tests.compare.networks import attention, written


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("film")
    for step, seed in ((0, 1), (8, 0)):
        written(
            folder / f"s{step}", [attention(0, seed=seed)], words="w", model=f"step-{step}", weights="one"
        )
    return folder / "s0", folder / "s8"


@pytest.mark.slow
def test_table_figure_and_result_are_written(places, tmp_path):
    done = answer("compare", *places, "--training", "-o", tmp_path / "out", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["steps"] == [0, 8]
    assert found["equal_weights"] == [["step-0", "step-8"]]
    names = ["training.csv", "training.npz", "training.png", "training.svg"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == names
    with (tmp_path / "out" / "training.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["step"]) for row in rows] == [0, 8]
    kept = load_results_file(tmp_path / "out" / "training.npz")
    assert [float(row["entropy_of_the_network"]) for row in rows] == pytest.approx(
        kept.network_entropies, rel=1e-8
    )
    counts = found["head_types"]["previous token"]
    assert counts == [one.count("previous token") for one in kept.types]
    assert [int(row["heads_previous_token"]) for row in rows] == counts


def test_the_table_has_a_line_per_checkpoint(places):
    done = answer("compare", *places, "--training", "--step", "3", "--step", "4")
    assert done.code == 0
    assert [line.split()[0] for line in done.out.splitlines()[3:5]] == ["3", "4"]
    table = done.out.split("Heads of each type, by step")[1].split("More than half")[0]
    (line,) = [line for line in table.splitlines() if line.strip().startswith("previous token")]
    assert len(line.split()) == 2 + 2
    assert "have the same weights, although their names differ" in " ".join(done.out.split())


def test_wrong_usage_and_a_file_of_another_kind(places, tmp_path):
    assert answer("compare", *places, "--step", "3", "--step", "4").code == 2
    assert answer("compare", *places, "--training", "--step", "3").code == 2
    wrong = tmp_path / "collapse.npz"
    wrong.write_text("no")
    done = answer("compare", *places, "--training", "--collapse", wrong, "--collapse", wrong)
    assert done.code == 1
    assert "results file" in done.line
