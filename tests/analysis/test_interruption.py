"""Ctrl-C at any moment ends the work soon, spoils nothing, and what was complete is kept."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from haarbor.analysis import organize_run, run_invariance
from haarbor.store import open_run
from tests.analysis.logit_runs import logit_run

INTERRUPTED = 3
PROGRAM = f"""
import signal
import sys
from haarbor.analysis import organize_run, run_invariance
from haarbor.report import report_html
from haarbor.store import open_run

run = open_run(sys.argv[1])
def report(run):
    organize_run(run)
    report_html(run)
work = {{"organize": organize_run, "report": report, "invariance": run_invariance}}[sys.argv[2]]
print("begun", flush=True)
try:
    work(run)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what Python does on its way out is its own
except KeyboardInterrupt:
    sys.exit({INTERRUPTED})
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run as it was captured, and the same with everything done."""
    folder = tmp_path_factory.mktemp("runs")
    logit_run(folder / "fresh", n_batches=3)
    done = open_run(shutil.copytree(folder / "fresh", folder / "done"))
    return folder / "fresh", organize_run(done), run_invariance(done)[0]


def interrupted_after(seconds, place, what):
    """Exit code of a program that was interrupted so long after it began."""
    command = [sys.executable, "-c", PROGRAM, str(place), what]
    environment = {**os.environ, "HAARBOR_NUM_THREADS": "2"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        try:
            assert program.stdout.readline() == b"begun\n"
            time.sleep(seconds)
            program.send_signal(signal.SIGINT)
            program.communicate(timeout=60)
        finally:
            program.kill()
    return program.returncode


def tried(what, moments, runs, tmp_path):
    fresh, organised, invariance = runs
    codes = []
    for number, seconds in enumerate(moments):
        place = shutil.copytree(fresh, tmp_path / str(number))
        codes.append(interrupted_after(seconds, place, what))
        run = open_run(place)
        assert run.verify() == ()
        np.testing.assert_array_equal(organize_run(run).consensus.distances, organised.consensus.distances)
        if what == "invariance":
            found, _ = run_invariance(run)
            np.testing.assert_array_equal(found.figures["exact"], invariance.figures["exact"])
        assert not list(place.rglob("*.partial"))
        shutil.rmtree(place)
    # A program that ends before it is interrupted has done its work.
    assert set(codes) <= {0, INTERRUPTED}
    return codes


@pytest.mark.parametrize(
    "what", ["organize", *(pytest.param(what, marks=pytest.mark.slow) for what in ("report", "invariance"))]
)
def test_an_interrupt_ends_the_work_and_spoils_nothing(what, runs, tmp_path):
    assert INTERRUPTED in tried(what, (0.05, 0.6), runs, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["organize", "report", "invariance"])
def test_an_interrupt_at_any_of_many_moments(what, runs, tmp_path):
    chance = random.Random(what)
    assert INTERRUPTED in tried(what, [chance.uniform(0.0, 3.0) for _ in range(4)], runs, tmp_path)
