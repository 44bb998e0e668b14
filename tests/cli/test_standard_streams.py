"""Output that nobody reads, that has no room, or that has no such letter."""

import os
import subprocess
import sys

import numpy as np
import pytest

from haarbor.store import import_arrays

pytestmark = pytest.mark.skipif(os.name != "posix", reason="what is closed or full is so on POSIX")

NAME = "Größe ✓ 名前"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams") / "run.zarr"
    axes = ("query", "key", "head")
    import_arrays(np.full((4, 4, 2), 0.25), folder, axes=axes, heads_per_layer=2, model=NAME)
    return folder


def shell(line, run, **environment):
    """A line for the shell, as a user types it; HAARBOR and RUN are filled in."""
    line = line.replace("HAARBOR", f"'{sys.executable}' -m haarbor").replace("RUN", f"'{run}'")
    return subprocess.run(
        ["bash", "-c", line], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_a_reader_who_has_read_enough_hears_nothing(run):
    # The reader is gone before the first letter.
    done = shell("HAARBOR info RUN | true; exit ${PIPESTATUS[0]}", run)
    assert done.returncode in (1, 141)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("HAARBOR info RUN >/dev/full", "No space left on device"),
        ("HAARBOR info RUN --json >/dev/full", "No space left on device"),
        ("HAARBOR info RUN --json >&-", "it is closed"),
    ],
)
def test_output_that_takes_nothing_is_one_line(run, line, reason):
    done = shell(line, run)
    assert done.returncode == 1
    assert (
        done.stderr == f"haarbor: standard output must take what is printed; {reason}. Send it elsewhere.\n"
    )


def test_without_any_stream_a_command_still_ends(run):
    assert shell("HAARBOR info RUN <&- >&- 2>&-", run).returncode == 1


def test_a_closed_output_does_not_become_a_file_of_the_run(tmp_path):
    """The first file that is opened gets the number of the closed stream, and what is printed."""
    code = (
        "from haarbor.cli._standard_streams import prepare_streams\n"
        "prepare_streams()\n"
        f"file = open('{tmp_path}/kept', 'w')\n"
        "assert file.fileno() > 2, file.fileno()\n"
    )
    done = shell(f'"{sys.executable}" -c "{code}" <&- >&-', "")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_letters_that_an_encoding_lacks_are_written_as_escapes(run, encoding):
    done = subprocess.run(
        [sys.executable, "-m", "haarbor", "info", str(run)],
        env={**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "120"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert NAME.encode(encoding, "backslashreplace") in done.stdout
