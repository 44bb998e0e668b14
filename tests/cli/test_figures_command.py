"""haarbor figures, as a user types it."""

import csv
import importlib
import json
import shutil
import signal

import pytest

import haarbor as hb
from tests.paper.runs import paper_run

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for kind in ("causal", "open", "logits"):
        paper_run(kind, folder / f"{kind}.zarr")
    return folder


@pytest.mark.slow
def test_figures_of_two_runs_and_again_from_their_results(command, runs, tmp_path):
    places = (runs / "causal.zarr", runs / "open.zarr")
    done = command("figures", *places, "-o", tmp_path / "a", "--seeds", 1)
    assert done.code == 0, done.err
    drawn = "figure1, figure2_1, figure3, figure4, figure5, figure6, head_types_1, head_types_2"
    assert f"{drawn}; table1, table1_stability, table2" in done.out
    assert "causal: 2 layers, 6 heads, 2 batches of 16 x 16, probabilities." in done.out
    assert "open: 3 layers, 12 heads, 7 batches" in done.out
    assert "Most coarse structure" in done.out
    assert "Kendall tau" in done.out
    assert "times as large with the items of the trees shuffled" in done.out
    assert "2/2 organising" in done.err
    assert "drawing" in done.err
    done = command("figures", tmp_path / "a" / "results.npz", "--out", tmp_path / "b")
    assert done.code == 0, done.err
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("a", "b"))
    # What is made of the runs themselves is not among the results.
    assert {name for name in one if name.startswith("head_")} == {
        f"head_{what}_{run}.{ending}"
        for run in (1, 2)
        for what, endings in (("types", ("png", "svg")), ("scores", ("csv", "md")))
        for ending in endings
    }
    assert {name: data for name, data in one.items() if not name.startswith("head_")} == two


def test_json_lists_files_and_key_numbers(command, undrawn, runs, tmp_path):
    words = ("--json", "--seeds", 1, "--heads", "1.2, 0.0", "--batch", 1, "--name", "mine")
    done = command("figures", runs / "causal.zarr", "-o", tmp_path, *words)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert sorted(found["files"]) == sorted(str(path) for path in tmp_path.iterdir())
    (network,) = found["networks"]
    assert network["network"] == "mine"
    assert network["model"] == "causal"
    assert network["shown_heads"] == ["1.2", "0.0"]
    assert network["shown_batch"] == 1
    assert network["coherence_of_controls_over_organised"]["shuffled_items"] > 1
    run = hb.open_run(runs / "causal.zarr")
    raw = sum(run.load_result("head-entropy", batch=batch).raw for batch in (0, 1)) / 2
    assert network["highest_entropy"][0]["entropy"] == pytest.approx(raw.max())
    assert network["mean_kendall_tau"] == pytest.approx(run.load_result("ranking-stability").mean_kendall_tau)


@pytest.mark.slow
def test_no_controls_leave_table_3_out(command, undrawn, runs, tmp_path):
    done = command("figures", runs / "open.zarr", "-o", tmp_path, "--seeds", 0)
    assert done.code == 0
    assert "Coherence" not in done.out
    assert not (tmp_path / "table3.csv").exists()


def test_content_is_what_the_run_holds_or_what_is_asked(command, undrawn, runs, tmp_path):
    for words, content in (((), "probabilities"), (("--content", "logits"), "logits")):
        done = command("figures", runs / "causal.zarr", "-o", tmp_path, "--json", "--seeds", 0, *words)
        assert json.loads(done.out)["networks"][0]["content"] == content
    done = command("figures", runs / "logits.zarr", "-o", tmp_path, "--json", "--seeds", 0)
    assert json.loads(done.out)["networks"][0]["content"] == "logits"


@pytest.mark.slow
def test_table_2_of_two_runs_is_side_by_side(command, undrawn, runs, tmp_path):
    words = ("--seeds", 0, "--name", "A", "--name", "B")
    command("figures", runs / "causal.zarr", runs / "open.zarr", "-o", tmp_path, *words)
    with (tmp_path / "table2.csv").open() as file:
        rows = list(csv.DictReader(file))
    run = hb.open_run(runs / "open.zarr")
    for batch in range(5):
        entropy = run.load_result("network-entropy", batch=batch)
        assert float(rows[batch]["B H"]) == pytest.approx(entropy.raw, rel=1e-9)
        assert float(rows[batch]["B H/norm"]) == pytest.approx(entropy.normalised, rel=1e-9)
    assert rows[2]["A H"] == ""


def test_a_finished_run_is_not_organised_again(command, undrawn, runs, tmp_path, monkeypatch):
    copy = tmp_path / "run.zarr"
    shutil.copytree(runs / "open.zarr", copy)
    assert command("organize", copy).code == 0
    module = importlib.import_module("haarbor.analysis._batch_results")

    def refuse(*_words, **_options):
        raise AssertionError("organised again")

    monkeypatch.setattr(module, "organize", refuse)
    monkeypatch.setattr(importlib.import_module("haarbor.analysis._organize_run"), "consensus", refuse)
    assert command("figures", copy, "-o", tmp_path / "out", "--seeds", 0).code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.zarr",), "nowhere.zarr"),
        (("nowhere.npz",), "must be a file; there is none"),
        (("open.zarr", "--heads", "9.9"), "heads must be written layer.head, from 0.0 to 2.3; found '9.9'"),
        (("open.zarr", "--batch", "7"), "batch must be a complete one"),
        (
            ("open.zarr", "--content", "logits"),
            "content must be one that the run holds, probabilities; found",
        ),
        (
            ("open.zarr", "--content", "scores"),
            "content must be one that the run holds, probabilities; found",
        ),
        (("open.zarr", "--stream", "cross"), "stream must be one of"),
    ],
)
def test_what_is_not_there_is_one_line_and_exit_code_1(command, runs, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(runs)
    done = command("figures", *words, "-o", tmp_path / "out")
    assert done.code == 1
    assert message in done.line
    assert not (tmp_path / "out").exists()


def test_a_damaged_results_file_is_one_line(command, undrawn, runs, tmp_path):
    command("figures", runs / "open.zarr", "-o", tmp_path, "--seeds", 0)
    path = tmp_path / "results.npz"
    path.write_bytes(path.read_bytes()[:-500])
    done = command("figures", path, "-o", tmp_path / "out")
    assert done.code == 1
    assert "damaged or of another kind" in done.line


def test_what_a_results_file_shows_cannot_be_changed(command, undrawn, runs, tmp_path):
    command("figures", runs / "open.zarr", "-o", tmp_path, "--seeds", 0)
    done = command(
        "figures", tmp_path / "results.npz", "-o", tmp_path / "out", "--batch", 1, "--heads", "0.0"
    )
    assert done.code == 1
    assert "--batch and --heads cannot be changed" in done.line


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("open.zarr",),
        ("open.zarr", "-o", "out", "--content", ""),
        ("open.zarr", "-o", "out", "--seeds", "-1"),
        ("open.zarr", "-o", "out", "--name", "a", "--name", "b", "--seeds", "0"),
    ],
)
def test_wrong_usage_is_exit_code_2(command, runs, tmp_path, monkeypatch, words):
    monkeypatch.chdir(runs)
    done = command("figures", *words)
    assert done.code == 2
    assert "Traceback" not in done.err


def test_help_tells_a_newcomer_what_comes_out(command):
    done = command("figures", "--help")
    assert done.code == 0
    for word in ("PNG", "CSV", "results.npz", "--content", "--batch", "--heads", "--json"):
        assert word in done.out


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="the system sets no limit to files")
def test_figures_on_a_full_disk_are_one_line(command, undrawn, copied_run, tmp_path, monkeypatch):
    """The system lets no file grow beyond a few bytes, as on a full disk."""
    monkeypatch.chdir(tmp_path)
    assert command("figures", copied_run, "-o", "first", "--seeds", 0).code == 0
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        found = command("figures", "first/results.npz", "-o", "second")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert found.code == 1
    assert "File too large" in found.line
