"""haarbor collapse, as a user types it."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("torch")

from haarbor.collapse import VARIANTS, kept_collapse
from haarbor.store import load_results_file, open_run
from haarbor.zoo import save_checkpoint
from tests.cli.builders import answer
from tests.pruning.small_networks import network


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("network") / "small"
    save_checkpoint(folder, network("zoo-vit"), {"images": {"mean": [0.5] * 3, "std": [0.25] * 3}})
    return (folder, "--data", "random", "--batches", "1")


@pytest.fixture(scope="module")
def answered(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("collapse") / "out"
    done = answer("collapse", *small, "--out", folder)
    assert done.code == 0, done.err
    return folder, done


@pytest.mark.slow
def test_paths_are_told_and_written(small, tmp_path):
    done = answer("collapse", *small, "--no-initial", "--paths", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "from tokens" in done.out
    assert "All paths together are the output" in " ".join(done.out.split())
    kept = load_results_file(tmp_path / "out" / "paths.npz")
    assert kept.error < 1e-4
    assert {path.name for path in (tmp_path / "out").glob("paths.*")} == {
        "paths.npz", "paths.png", "paths.svg"
    }  # fmt: skip


def test_the_table_says_how_each_variant_ends(answered):
    _, done = answered
    for variant in VARIANTS:
        assert done.out.count(f" {variant} ") >= 2
    assert "at initialisation" in done.out
    assert "3 layers, 1 samples" in done.out


def test_the_files_hold_what_was_measured(answered):
    folder, _ = answered
    assert sorted(path.name for path in folder.iterdir()) == [
        "collapse.csv", "collapse.npz", "collapse.png", "collapse.svg"
    ]  # fmt: skip
    kept = load_results_file(folder / "collapse.npz")
    with (folder / "collapse.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 6 * 4
    for name, result in kept.items():
        for variant in VARIANTS:
            column = [
                float(row["composite"])
                for row in rows
                if row["weights"] == name and row["variant"] == variant
            ]
            np.testing.assert_allclose(column, result.middle("composite", variant), rtol=1e-8)
    trained = kept["trained"]
    assert trained.middle("composite", "as it is")[-1] > 0.5
    assert trained.middle("composite", "no skips")[-1] < 1e-5


def test_the_result_is_kept_in_a_run_of_the_network_and_told(small, tmp_path):
    folder, *few = small
    run = tmp_path / "run.zarr"
    assert answer("capture", folder, *few, "--out", run).code == 0
    done = answer("collapse", folder, *few, "--run", run, "--dtype", "float64", "--no-initial")
    assert done.code == 0, done.err
    kept = kept_collapse(open_run(run))
    assert list(kept.results) == ["trained"]
    assert kept.results["trained"].floor < 1e-14
    assert kept.bounds["trained"].reason == ""
    assert kept.verdict()[0] in json.loads(answer("info", run, "--json").out)["collapse"]


def test_json_holds_every_depth(command, small):
    done = command("collapse", *small, "--no-initial", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert list(found["results"]) == ["trained"]
    assert list(found["results"]["trained"]["variants"]) == list(VARIANTS)
    assert len(found["results"]["trained"]["variants"]["no skips"]["cosine"]) == 4
    assert found["files"] == []


@pytest.mark.parametrize(
    ("words", "message", "code"),
    [
        (("zoo:nothing",), "zoo:nothing", 1),
        (("zoo:vision-transformer", "--data", "nowhere"), "there is no nowhere", 1),
        (("zoo:vision-transformer", "--dtype", "float16"), "float32 or float64", 2),
        (("zoo:vision-transformer", "--batches", "0"), "batches", 2),
        ((), "MODEL", 2),
    ],
)
def test_what_is_wrong_is_one_line(command, words, message, code):
    done = command("collapse", *words)
    assert done.code == code
    assert message in done.err.replace("\n", " ")
    assert "Traceback" not in done.err
