"""The traps that hostile files are to step into work: else nothing would be found."""

import mmap
import os
import pickle
import socket
import subprocess
import sys

import pytest
from faults.forked_cases import forked_answer
from faults.haarbor_command import Ended, one_line_judged
from faults.hostile_file import treacherous_pickle
from faults.hostile_files import _unreachable
from faults.many_runs import _held
from faults.small_disk import disk_of, grown_disk, own_mounts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def test_a_treacherous_pickle_acts_when_it_is_read(tmp_path):
    data = treacherous_pickle(tmp_path)
    assert not (tmp_path / "executed").exists()
    pickle.loads(data)
    assert (tmp_path / "executed").exists()


def test_an_attempt_to_reach_a_network_is_kept():
    called = []
    with _unreachable(called), pytest.raises(OSError, match="no network here"):
        socket.create_connection(("example.org", 80))
    assert called


def test_a_small_disk_fills_up_and_grows(tmp_path):
    def tried():
        if not own_mounts() or not disk_of(tmp_path, 20_000, 100):
            return "not allowed"
        try:
            (tmp_path / "file").write_bytes(bytes(100_000))
        except OSError as error:
            full = error.errno
        grown_disk(tmp_path)
        (tmp_path / "file").write_bytes(bytes(100_000))
        return full

    found = forked_answer(tried)
    if found == "not allowed":
        pytest.skip("needs the right to mount a small disk")
    assert found == 28
    assert list(tmp_path.iterdir()) == []  # nobody else saw it


@pytest.mark.slow
def test_a_leak_would_be_seen(tmp_path):
    memory, files = _held()
    kept = mmap.mmap(-1, 1 << 24)  # new pages: an array could lie in memory that the process held already
    kept.write(os.urandom(64) * (1 << 18))
    with (tmp_path / "open").open("w"):
        more_memory, more_files = _held()
    assert more_files == files + 1
    assert more_memory > memory + len(kept) // 2


@pytest.mark.parametrize(
    ("ended", "verdict"),
    [
        (Ended(1, "", "some progress\nhaarbor: X must be Y; found Z. Do this.\n", 0.1), "refused"),
        (Ended(1, "", "haarbor: X must be Y.\n", 0.1), "defect"),
        (Ended(1, "", "Traceback (most recent call last):\nOSError\n", 0.1), "defect"),
        (Ended(1, "", "haarbor: one. Do this.\nhaarbor: two. Do this.\n", 0.1), "defect"),
        (Ended(1, "", "", 0.1), "defect"),
        (Ended(2, "", "haarbor: X must be Y; found Z. Do this.\n", 0.1), "defect"),
        (Ended(-1000, "", "", 60.0), "defect"),
        (Ended(-9, "", "", 1.0), "defect"),
    ],
)
def test_a_command_refuses_with_one_line_and_code_one(ended, verdict):
    assert one_line_judged(ended).verdict == verdict


@pytest.mark.slow
def test_a_case_can_be_tried_again_from_the_command_line():
    words = [sys.executable, "-m", "faults", "chunks", "--function", "cut short", "--seed", "0"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[2].split() == ["chunks", "damaged", "cut", "short", "1", "0", "1", "0"]
