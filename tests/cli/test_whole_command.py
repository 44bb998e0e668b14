"""What surrounds every command: circumstances are one line, a defect shows its traceback."""

import errno
import sys
from pathlib import Path

import pytest

import haarbor
from haarbor.cli._failure_line import failure_line
from haarbor.errors import SettingError
from tests.cli.builders import finished


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded", "figure1.png"),
        OSError(errno.EROFS, "Read-only file system", "figure1.png"),
        OSError(errno.EMFILE, "Too many open files", "zarr.json"),
        OSError(errno.EIO, "Input/output error"),
        FileNotFoundError(errno.ENOENT, "No such file or directory", "run/zarr.json"),
        PermissionError(errno.EACCES, "Permission denied", b"run/\xff"),
        PermissionError(errno.EACCES, "Permission denied", "one", None, "other"),
        MemoryError("Unable to allocate 349. TiB for an array"),
        MemoryError(),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
        ModuleNotFoundError("No module named 'matplotlib.figure'", name="matplotlib.figure"),
        SettingError("a name\nin two lines, \x1b[31mred"),
    ],
    ids=repr,
)
def test_circumstances_are_one_line(command, monkeypatch, error):
    def refuse(_location):
        raise error

    monkeypatch.setattr("haarbor.store.open_run", refuse)
    found = command("info", "run")
    assert found.code == 1
    assert found.err == f"haarbor: {failure_line(error)}\n"
    assert found.err[:-1].isprintable()


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("division by zero"),
        TypeError("'int' object is not subscriptable"),
        ModuleNotFoundError("No module named 'haarbor.nothing'", name="haarbor.nothing"),
        FileNotFoundError(errno.ENOENT, "No such file or directory"),
        FileNotFoundError(
            errno.ENOENT, "No such file or directory", str(Path(haarbor.__file__).with_name("assets"))
        ),
        OSError("without a number"),
        RecursionError("maximum recursion depth exceeded"),
    ],
    ids=repr,
)
def test_a_defect_shows_its_traceback(monkeypatch, error):
    def refuse(_location):
        raise error

    monkeypatch.setattr("haarbor.store.open_run", refuse)
    monkeypatch.setattr(sys, "argv", ["haarbor", "info", "run"])
    with pytest.raises(type(error)) as raised:
        haarbor.cli.main()
    assert raised.value is error


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


@pytest.mark.slow
def test_at_every_step_of_what_surrounds_a_command():
    done = finished(code=("-c", EVERY_STEP))
    assert done.code == 0, done.err
    assert int(done.err.split()[0]) > 100
