"""Ctrl-C at any moment: one line, exit code 130, soon."""

import os
import signal
import subprocess
import sys
import time

import pytest

from haarbor.store import open_run
from tests.analysis.logit_runs import logit_run

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


def started(*words, code=("-m", "haarbor"), cwd=None):
    command = [sys.executable, *code, *map(str, words)]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


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


def test_the_command_is_ready_for_an_interrupt_before_anything_slow_is_loaded():
    code = (
        "import sys, haarbor.cli\n"
        "print([name for name in ('numpy', 'typer', 'rich', 'asyncio') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# The command runs in a copy of a process that has everything loaded, and interrupts itself at one step after
# the other of what surrounds every command.
EVERY_STEP = """
import os, signal, sys
import haarbor.cli._app, haarbor.cli._whole_command
from haarbor.cli import main
AROUND = ("_whole_command.py", "_interruption.py", "_standard_streams.py", "_told_warnings.py")
sys.argv = ["haarbor", "--version"]

def interrupted_at(step):
    left = [step]
    def watch(frame, event, argument):
        if os.path.basename(frame.f_code.co_filename) not in AROUND:
            return None
        frame.f_trace_opcodes = frame.f_code.co_name == "whole_command"
        left[0] -= 1
        if left[0] == 0:
            sys.settrace(None)
            os.kill(os.getpid(), signal.SIGINT)
        return watch
    sys.settrace(watch)

def ended_at(step):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 2)
        code = 99
        try:
            interrupted_at(step)
            main()
        except SystemExit as left:
            sys.settrace(None)
            code = left.code
        except BaseException:
            sys.settrace(None)
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as said:
        err = said.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), err

step = 0
codes = []
while 0 not in codes:
    step += 1
    code, err = ended_at(step)
    codes.append(code)
    if code not in (0, 130) or "Traceback" in err or "ignored" in err or err.count(" kept.") != code / 130:
        sys.exit(f"step {step}: exit code {code}, {err}")
sys.stderr.write(f"{step} steps\\n")
"""


def test_at_every_step_of_what_surrounds_a_command():
    done = subprocess.run([sys.executable, "-c", EVERY_STEP], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.split()[0]) > 100
