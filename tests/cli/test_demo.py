import json
import subprocess
import sys

import numpy as np
import pytest

import haarbor as hb
from haarbor.cli._demo_findings import findings

pytest.importorskip("torch")
pytest.importorskip("transformers")


def haarbor(*words, cwd):
    command = [sys.executable, "-m", "haarbor", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = haarbor("demo", "--out", str(folder / "out"), "--tokens", "24", "--batches", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out", done.stdout


def test_demo_ends_with_three_sentences_and_where_everything_is(demo_folder):
    folder, shown = demo_folder
    sentences = [line for line in shown.splitlines() if line.endswith(".") and not line.endswith(" s.")]
    assert len(sentences) == 3
    for place in ("report.html", "figures/figures.md", "transformer-xl.zarr", "vision-transformer.zarr"):
        assert str(folder / place) in shown
        assert (folder / place).exists()


def test_demo_makes_every_figure_and_table_of_the_paper(demo_folder):
    folder, _ = demo_folder
    for ending in ("png", "svg"):
        names = {path.stem for path in (folder / "figures").glob(f"*.{ending}")}
        assert names == {"figure1", "figure2_1", "figure2_2", "figure3", "figure4", "figure5", "figure6"}
    for ending in ("csv", "md"):
        names = {path.stem for path in (folder / "figures").glob(f"table*.{ending}")}
        assert names == {"table1", "table1_stability", "table2", "table3"}


def test_demo_runs_hold_both_trained_networks(demo_folder):
    folder, _ = demo_folder
    text, images = (hb.open_run(folder / f"{name}.zarr") for name in ("transformer-xl", "vision-transformer"))
    assert text.tensor(1).shape == (24, 24, 48)
    assert images.tensor(1).shape == (197, 197, 36)
    assert set(text.contents) == set(images.contents) == {"probabilities", "logits"}
    assert images.picture(0).shape == (56, 56, 3)
    sums = np.asarray(images.tensor(0)).sum(axis=1)
    np.testing.assert_allclose(sums, 1.0, atol=5e-3)


@pytest.mark.slow
def test_a_second_call_reuses_what_the_first_has_done_and_finds_the_same(demo_folder, tmp_path):
    folder, _ = demo_folder
    before = (folder / "figures" / "table2.csv").read_bytes()
    done = haarbor("demo", "--out", str(folder), "--tokens", "24", "--batches", "2", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "capturing" not in done.stderr
    assert (folder / "figures" / "table2.csv").read_bytes() == before
    found = json.loads(done.stdout)
    assert [network["n_heads"] for network in found["networks"]] == [48, 36]
    assert str(folder / "report.html") in found["files"]


@pytest.mark.slow
def test_another_demo_in_the_same_folder_is_refused_and_nothing_is_lost(demo_folder, tmp_path):
    folder, _ = demo_folder
    done = haarbor("demo", "--out", str(folder), "--tokens", "32", "--batches", "2", cwd=tmp_path)
    assert done.returncode == 1
    assert len([line for line in done.stderr.splitlines() if line.startswith("haarbor: ")]) == 1
    assert hb.open_run(folder / "transformer-xl.zarr").tensor(0).shape == (24, 24, 48)


def summary(name, tau):
    return {
        "network": name,
        "coherence_of_controls_over_organised": {"shuffled_entries": 2.0},
        "highest_entropy": [{"head": "1.0", "entropy": 5.0}],
        "lowest_entropy": [{"head": "0.1", "entropy": 2.0}],
        "mean_kendall_tau": tau,
        "always_in_top": 1,
        "always_in_bottom": 2,
        "heads_in_a_tenth": 4,
        "batches": [0, 1, 2],
        "softmax": {"invariance": 0.25, "exact": 0.9},
    }


def test_findings_say_what_the_figures_say():
    structure, heads, softmax = findings([summary("A", 0.5), summary("B", 0.25)])
    assert "by 50 % for the A and 50 % for the B" in structure
    assert "most and the least coarse structure are 1.0 and 0.1 in the A, 1.0 and 0.1 in the B" in heads
    assert "only 3 of 8 (Kendall tau 0.50) and 3 of 8 (Kendall tau 0.25) are there in all 3 batches" in heads
    assert "explains 25 % and 25 % of it in the median head, the corrected decomposition 90 %" in softmax


def test_findings_claim_no_stability_from_one_batch():
    assert "ask for more" in findings([summary("A", None)])[1]


def test_a_folder_that_cannot_be_made_is_one_line_and_exit_code_1(tmp_path):
    (tmp_path / "taken").write_text("a file")
    done = haarbor("demo", "--out", str(tmp_path / "taken" / "inside"), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "--out must be a folder that can be written" in done.stderr


def test_wrong_usage_is_exit_code_2(tmp_path):
    done = haarbor("demo", "--tokens", "many", cwd=tmp_path)
    assert done.returncode == 2


def test_version_is_that_of_the_package(tmp_path):
    done = haarbor("--version", cwd=tmp_path)
    assert done.stdout.strip() == f"haarbor {hb.__version__}"


def test_help_tells_a_newcomer_what_the_demo_does(tmp_path):
    done = haarbor("demo", "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "two trained networks inside the package" in " ".join(done.stdout.split())
