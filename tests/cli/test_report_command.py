"""haarbor report, as a user types it."""

import json
import os
import shutil
import stat

import numpy as np
import pytest

from haarbor.store import import_arrays, open_run
from tests.analysis.damage import EVERY, result_folder
from tests.cli.builders import finished
from tests.report.runs import network_tensors


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    import_arrays(
        network_tensors(2, 12, 2, 2),
        folder / "run.zarr",
        axes=("batch", "query", "key", "head"),
        heads_per_layer=2,
        mask="causal",
        model="small",
    )
    os.mkfifo(folder / "pipe")
    return folder


def test_a_run_is_organised_where_needed_and_reported_the_same_twice(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = command("report", "run.zarr")
    assert done.code == 0, done.err
    assert "organising small" in done.err
    assert done.out.startswith("report.html: small, ")
    first = (folder / "report.html").read_bytes()
    organised = open_run(folder / "run.zarr").load_result("organization", batch=0).settings
    assert (organised.n_iterations, organised.refine, organised.initial) == (3, "latest", "cosine")
    again = command("report", "run.zarr", "-o", "again.html", "--json")
    assert again.code == 0
    assert again.err == "Writing the page ...\n"
    assert json.loads(again.out) == {
        "report": "again.html", "bytes": len(first), "models": ["small"], "heads": [4],
    }  # fmt: skip
    assert (folder / "again.html").read_bytes() == first


def test_two_runs_make_one_page(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    done = command("report", "run.zarr", "run.zarr", "-o", "two.html")
    assert done.code == 0, done.err
    assert done.out.startswith("two.html: small and small, ")


def test_the_options_a_run_was_organised_with_are_kept(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = network_tensors(2, 12, 2, 2)
    run = import_arrays(X, tmp_path / "run.zarr", axes=("batch", "query", "key", "head"), heads_per_layer=2)
    from haarbor.analysis import organize_run

    organize_run(run, options={"n_iterations": 1, "initial": "gaussian"})
    run.delete_result("consensus")
    assert command("report", "run.zarr").code == 0
    kept = run.load_result("organization", batch=1).settings
    assert (kept.n_iterations, kept.initial) == (1, "gaussian")
    assert np.isfinite(run.load_result("consensus").affinity).all()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("nothing.zarr",), 1, "must be a Haarbor run; there is nothing there"),
        (("run.zarr", "--content", "logits"), 1, "content must be one that the run holds"),
        (("run.zarr", "-o", "no/such/report.html"), 2, "the folder no/such does not exist"),
        (("run.zarr", "-o", "run.zarr"), 1, "the report must be written to a file; run.zarr is a folder"),
        (("run.zarr", "-o", ""), 2, "must name something; it is empty"),
        (("run.zarr", "-o", "pipe"), 1, "pipe is a device, a pipe or a socket"),
        (("run.zarr", "-o", "/proc/self/fd/1"), 1, "/proc/self/fd/1 is an open stream"),
        (("run.zarr", "-o", "n" * 300), 1, "File name too long. Choose a shorter name"),
        (("run.zarr", "run.zarr", "run.zarr"), 2, "of one run or of two; found 3"),
        (("run.zarr", "--batches", "0"), 2, "--batches"),
        ((), 2, ""),
    ],
)
def test_wrong_words_are_told_in_one_line(command, folder, monkeypatch, words, code, message):
    monkeypatch.chdir(folder)
    done = command("report", *words)
    assert done.code == code
    assert stat.S_ISFIFO((folder / "pipe").stat().st_mode)
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err
    assert not list(folder.glob(".*"))


@pytest.mark.slow
def test_damaged_results_are_made_again_and_said_in_one_line(folder, tmp_path):
    finished("report", "run.zarr", cwd=folder)
    copy = shutil.copytree(folder / "run.zarr", tmp_path / "run.zarr")
    EVERY["array flipped"](result_folder(copy, "organization", 0))
    EVERY["description cut"](result_folder(copy, "head-entropy", 1))
    EVERY["chunk deleted"](result_folder(copy, "consensus"))
    done = finished("report", "run.zarr", cwd=tmp_path)
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if "damaged" in line]
    assert line == (
        "haarbor: results kept in a run must be whole; found damaged, and made again: consensus of all "
        "batches, organization of batch 0, head-entropy of batch 1. Check the disk."
    )
    assert (tmp_path / "report.html").read_bytes() == (folder / "report.html").read_bytes()


HUGE = str(10**30)


def test_more_batches_than_there_are_means_all(command, copied_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("report", copied_run, "--batches", HUGE).code == 0
