"""haarbor compare, as a user types it."""

import csv
import json

import numpy as np
import pytest

from haarbor.store import load_results_file, open_run
from tests.cli.builders import HOSTILE_NAME, answer
from tests.compare.networks import attention, written

ORDER = np.array([3, 1, 2, 0, 4, 5, 7, 6])


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    networks = {
        "base": [attention(batch) for batch in range(2)],
        "moved": [attention(batch)[:, :, ORDER] for batch in range(2)],
    }
    for name, tensors in networks.items():
        written(folder / name, tensors, words="w", model=name)
    return folder / "base", folder / "moved"


@pytest.fixture(scope="module")
def answered(places, tmp_path_factory):
    out = tmp_path_factory.mktemp("compared") / "out"
    done = answer("compare", *places, "--out", out, "--permutations", "49", "--json")
    assert done.code == 0, done.err
    return out, json.loads(done.out)


def test_the_answer_holds_verdict_and_matching(answered):
    _, found = answered
    (pair,) = found["pairs"]
    assert found["names"] == ["base", "moved"]
    assert pair["distance"] == 0
    assert pair["matching"][:2] == [["0.0", "0.3"], ["0.1", "0.1"]]
    assert pair["heads_in_place"] == 4
    assert found["verdict"][0] == (
        "base and moved have the same heads: each has its exact counterpart, but 4 of 8 at other places."
    )


def test_the_files_hold_what_was_found(answered, places):
    folder, found = answered
    names = ["comparison.csv", "comparison.npz", "comparison.png", "comparison.svg", "matched-heads.csv"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert sorted(found["files"]) == sorted(str(folder / name) for name in names)
    with (folder / "matched-heads.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["matched_head"] for row in rows] == [two for _, two in found["pairs"][0]["matching"]]
    with (folder / "comparison.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["matched_by"], float(row["distance"])) == ("tree EMD", 0.0)
    kept = load_results_file(folder / "comparison.npz")
    assert kept.names == ("base", "moved")
    assert open_run(places[0]).load_result("comparison").names == ("base", "moved")


def test_the_words_are_those_of_the_verdict(places):
    done = answer("compare", *places, "--permutations", "9", "--name", "a", "--name", HOSTILE_NAME)
    assert done.code == 0
    assert "\x1b" not in done.out
    assert "Linear CKA of each layer" in " ".join(done.out.split())


def test_wrong_usage_is_exit_code_2(places, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (
        (places[0],),
        (*places, "--name", "one"),
        (*places, "--matching", "magic"),
        (*places, "--permutations", "0"),
        (*places, "--batches", "0"),
    ):
        assert answer("compare", *words).code == 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_run_is_one_line(places, tmp_path):
    done = answer("compare", places[0], tmp_path / "nothing")
    assert done.code == 1
    assert "nothing" in done.line
