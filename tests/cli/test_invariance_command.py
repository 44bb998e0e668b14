"""haarbor invariance, as a user types it."""

import csv
import json
import re

import numpy as np
import pytest

from haarbor.store import open_run
from tests.analysis.logit_runs import logit_run
from tests.cli.builders import answer


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    logit_run(folder / "run", contents=("probabilities", "logits"))
    done = answer("invariance", folder / "run", "--out", folder / "invariance-output")
    assert done.code == 0, done.err
    return folder, done


@pytest.mark.slow
def test_it_says_which_heads_are_closest_and_what_that_goes_with(answered):
    folder, done = answered
    assert "made up: 6 heads on batch 0" in done.out
    assert "Rank correlation (Spearman) of invariance with: logit deviation" in done.out
    assert "Organising raises the Hölder exponent" in done.out
    found = open_run(folder / "run").load_result("softmax-invariance", batch=0, content="logits")
    heads = re.findall(r"^ ?(\d\.\d) ", done.out, flags=re.MULTILINE)
    assert heads == [found.labels[head] for head in found.order()]
    drawn = sorted(path.name for path in (folder / "invariance-output").iterdir())
    ends = found.order()[[0, -1]]
    assert drawn == sorted(
        ["invariance.csv"]
        + [f"softmax_head_{found.labels[head]}.{ending}" for head in ends for ending in ("png", "svg")]
    )


def test_the_table_holds_what_the_run_holds(answered):
    folder, _ = answered
    found = open_run(folder / "run").load_result("softmax-invariance", batch=0, content="logits")
    with (folder / "invariance-output" / "invariance.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["head"] for row in rows] == list(found.labels)
    for name in ("exact", "invariance", "linear"):
        np.testing.assert_allclose([float(row[name]) for row in rows], found.figures[name], rtol=1e-8)
        shuffled = [float(row[f"shuffled_rows_{name}"]) for row in rows]
        np.testing.assert_allclose(shuffled, found.shuffled_rows[name], rtol=1e-8)


def test_chosen_heads_are_drawn_and_json_holds_every_head(command, answered):
    folder, _ = answered
    done = command("invariance", folder / "run", "--heads", "1.2", "--out", folder / "drawn", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [row["head"] for row in found["heads"]] == ["0.0", "0.1", "0.2", "1.0", "1.1", "1.2"]
    assert sorted(path.name for path in (folder / "drawn").iterdir()) == [
        "invariance.csv", "softmax_head_1.2.png", "softmax_head_1.2.svg"
    ]  # fmt: skip
    kept = open_run(folder / "run").load_result("softmax-invariance", batch=0, content="logits")
    np.testing.assert_array_equal([row["exact"] for row in found["heads"]], kept.figures["exact"])
    assert found["spearman_with_invariance"].keys() == kept.correlations().keys()


def test_numbers_that_are_not_there_are_null_in_json(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    logit_run(tmp_path / "run", flat_head=0)
    done = command("invariance", "run", "--json", "--no-figures")
    assert done.code == 0, done.err
    found = json.loads(done.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert found["heads"][0]["invariance"] is None
    assert not (tmp_path / "invariance-output").exists()


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (("run", "--heads", "9.9"), "--heads must be written layer.head, from 0.0 to 1.2; found '9.9'", 1),
        (("run", "--batch", "3"), "batch must be a complete one", 1),
        (("nowhere",), "nowhere", 1),
        (("run", "--settings", "theirs"), "ours or paper", 2),
    ],
)
def test_what_is_wrong_is_one_line(command, words, message, code, answered, monkeypatch):
    monkeypatch.chdir(answered[0])
    done = command("invariance", *words)
    assert done.code == code
    assert message in done.err.replace("\n", " ")
    assert "Traceback" not in done.err


def test_a_run_without_logits_is_one_line_that_says_what_to_do(command, tmp_path):
    logit_run(tmp_path / "run", contents=("probabilities",))
    done = command("invariance", tmp_path / "run", "--out", tmp_path / "out")
    assert done.code == 1
    lines = [line for line in done.err.splitlines() if line.startswith("haarbor:")]
    assert done.err.splitlines() == lines
    assert len(lines) == 1
    assert "haarbor capture --logits" in lines[0]
