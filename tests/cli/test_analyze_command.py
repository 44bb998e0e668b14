"""haarbor analyze, as a user types it, and blocks of tokens in the other commands."""

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import haarbor as hb


@pytest.fixture
def words(begun, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return [begun / "tiny", "--data", begun / "book.txt", "--tokens", "6", "--batches", "2"]


def test_results_are_left_and_what_needs_more_is_told_in_one_line(command, words):
    done = command("analyze", *words, "-o", "results.zarr", "--pool", "2")
    assert done.code == 0, done.err
    assert "results  results.zarr" in done.out
    assert "Network entropy" in done.out
    told = json.loads(command("info", "results.zarr", "--json", "--verify").out)
    assert (told["keeps"], told["damaged"], told["streams"][0]["pool"]) == ("results", [], 2)
    assert "consensus" in told["results"]
    assert told["settings"]["command"].startswith("haarbor analyze tiny --data book.txt")
    assert "--pool 2" in told["settings"]["command"]
    shown = command("info", "results.zarr").out
    assert "the attention itself was not kept" in shown
    assert "of attention)" not in shown
    assert "blocks of 2 x 2 tokens" in " ".join(shown.split())
    for needing in (
        ["report", "results.zarr"],
        ["figures", "results.zarr", "-o", "figures"],
        ["organize", "results.zarr", "--iterations", "1"],
    ):
        done = command(*needing)
        assert done.code == 1, needing
        assert "needs the attention itself; results.zarr keeps results only" in done.line
    again = command("analyze", *words, "-o", "results.zarr", "--pool", "2", "--json")
    found = json.loads(again.out)
    assert (found["results"], found["batches_reused"]) == ("results.zarr", 2)


def test_a_page_of_blocks_tells_their_positions(command, words):
    done = command("look", *words, "-o", "page.html", "--pool", "4")
    assert done.code == 0, done.err
    run = hb.open_run("page.zarr")
    assert run.labels(0).key == ("0-3", "4-5")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "6 tokens, as means over 2 x 2 blocks of 4 x 4 neighbouring tokens" in page
    assert "0-3" in page
    done = command("organize", "page.zarr", "-o", "tables")
    assert done.code == 0, done.err
    assert any("0-3" in path.read_text(encoding="utf-8") for path in Path("tables/batch0").glob("*.csv"))


def test_blocks_of_logits_are_refused_before_the_model_is_loaded(command, words):
    done = command("capture", *words, "-o", "run.zarr", "--pool", "2", "--logits")
    assert done.code == 1
    assert "--pool must go without --logits" in done.line
    assert "Loading" not in done.err
    assert command("capture", *words, "-o", "run.zarr", "--pool", "0").code == 2
