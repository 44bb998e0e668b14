import csv
import json

import pytest

from haarbor.diagnostics import kept_model_diagnostics
from haarbor.store import load_results_file, open_run

pytest.importorskip("torch")


@pytest.mark.slow
def test_the_induction_heads_of_the_embedded_network_are_found_and_kept(command, tmp_path):
    run = tmp_path / "run.zarr"
    few = ("--tokens", 32, "--batches", 1)
    assert command("capture", "zoo:transformer-xl", "--data", "zoo", "--out", run, *few).code == 0
    done = command("diagnose", "zoo:transformer-xl", *few, "--run", run, "-o", tmp_path / "out")
    assert done.code == 0, done.err
    (line,) = [line for line in done.out.splitlines() if line.startswith("Induction")]
    assert sorted(word[:3] for word in line.split(": ")[1].split(", ")[:2]) == ["2.2", "2.5"]
    with (tmp_path / "out" / "head_diagnostics.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    induction = {row["head"]: float(row["induction"]) for row in rows}
    previous = {row["head"]: float(row["previous_repeated"]) for row in rows}
    assert sorted(induction, key=induction.get)[-2:] in (["2.2", "2.5"], ["2.5", "2.2"])
    assert max(previous, key=previous.get) == "1.7"
    kept = kept_model_diagnostics(open_run(run))
    stored = load_results_file(tmp_path / "out" / "head_diagnostics.npz")["diagnostics"]
    assert kept.figures["induction"].tolist() == stored.figures["induction"].tolist()


def test_every_number_as_json(command, model_folder):
    done = command("diagnose", model_folder, "--data", "random", "--batches", 1, "--tokens", 8, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert len(found["heads"]) == len(found["figures"]["induction"])
    assert found["massive_activations_after_layers"] == []
    assert len(found["states"]["cosine"]) == len({head.split(".")[0] for head in found["heads"]}) + 1


def test_a_run_of_another_network_is_told_in_one_line(command, model_folder, tmp_path):
    from tests.report.runs import text_run

    text_run(tmp_path / "run.zarr", n_batches=1, n_tokens=8, n_layers=1, heads=1)
    done = command(
        "diagnose",
        model_folder,
        "--data",
        "random",
        "--batches",
        1,
        "--tokens",
        8,
        "--run",
        tmp_path / "run.zarr",
    )
    assert done.code == 1
    assert "the run must be of the same network; it has 1 heads" in done.err
    assert command("diagnose", model_folder, "--run", tmp_path / "none.zarr").code == 1
