"""Ctrl-C at any moment: one line, exit code 130, soon."""

import os
import signal
import subprocess
import sys
import time

import pytest

from haarbor.store import open_run
from tests.analysis.logit_runs import logit_run
from tests.cli.builders import started

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal on POSIX")


LINE = "haarbor: interrupted; what was complete is kept."


# The promise is two seconds; a busy machine needs longer to end a process that has ended itself.
SOON = 5.0


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of many batches, so that there is something to interrupt."""
    folder = tmp_path_factory.mktemp("interruption") / "run"
    logit_run(folder, contents=("probabilities", "logits"), n_batches=8)
    return folder


def assert_interrupted(process):
    """Send the signal, and look at the end."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert time.monotonic() - began < SOON
    assert process.returncode == 130, err
    assert [line for line in err.splitlines() if line.startswith("haarbor:")] == [LINE]
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def wait_for(path, process):
    deadline = time.monotonic() + 60
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(
    "moment", ["haarbor.cli._interruption", "numpy._core", "typer.main", "haarbor.cli._organize_command"]
)
def test_while_the_program_is_being_loaded(run, moment):
    process = started("info", run, code=("-X", "importtime", "-m", "haarbor"))
    for line in process.stderr:
        if line.rstrip().endswith(moment):
            break
    assert_interrupted(process)


@pytest.mark.slow
def test_while_a_run_is_organised_and_what_was_complete_is_kept(run):
    process = started("organize", run)
    wait_for(run / "results" / "self" / "probabilities" / "batch-00001", process)
    assert_interrupted(process)
    kept = open_run(run)
    assert kept.has_result("asked", batch=0)
    assert not kept.has_result("consensus")


@pytest.mark.slow
def test_while_heads_are_measured(run, tmp_path):
    process = started("invariance", run, cwd=tmp_path)
    wait_for(run / "results" / "self" / "logits" / "batch-00000" / "head-trees", process)
    assert_interrupted(process)


@pytest.mark.slow
def test_while_figures_are_drawn(run, tmp_path):
    process = started("figures", run, "-o", "out", "--seeds", 0, cwd=tmp_path)
    wait_for(tmp_path / "out" / "figure1.png", process)
    assert_interrupted(process)


WATCHED = """
import sys, threading, time
from haarbor.cli._interruption import Interruption
interruption = Interruption()
interruption.watch()
"""


def test_work_that_does_not_heed_an_interrupt_is_ended():
    """As compiled code does not, nor a place that ignores exceptions."""
    code = WATCHED + (
        "while True:\n"
        "    try:\n"
        "        print('ready', flush=True)\n"
        "        time.sleep(30)\n"
        "    except KeyboardInterrupt:\n"
        "        pass\n"
    )
    process = started(code=("-c", code))
    process.stdout.readline()
    assert_interrupted(process)


def test_threads_that_work_on_do_not_keep_the_process():
    code = WATCHED + (
        "threading.Thread(target=time.sleep, args=(30,)).start()\n"
        "interruption.finished = True\n"
        "print('ready', flush=True)\n"
    )
    process = started(code=("-c", code))
    process.stdout.readline()
    assert_interrupted(process)


def test_a_process_that_was_told_to_ignore_interrupts_ignores_them(run):
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "haarbor", "info", run],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    for line in process.stderr:
        if line.rstrip().endswith("typer.main"):
            break
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "made up" in out
