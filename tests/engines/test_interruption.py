"""Ctrl-C while threads are at work: the process ends, and does not wait for sums that nobody wants."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
from haarbor import CpuEngine

class Large:
    dtype = np.dtype(np.float32)
    section_ends = np.array([16_000])
    section_targets = np.array([0])

    def write_means(self, out):
        out[:] = 1
        out[:, ::7] = np.arange(out.shape[0])[:, None]
        print("at work", flush=True)

class Small(Large):
    section_ends = np.array([16])

    def write_means(self, out):
        out[:] = 1

engine = CpuEngine(2)
engine.l1_sums([Small()], 8, 1)
engine.l1_sums([Large()] * 20, 3_000, 1)
"""


def seconds_of(usage):
    return usage.ru_utime + usage.ru_stime


def seconds_so_far(process):
    """Processor time a child has used until now."""
    after_name = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_an_interrupt_ends_the_process_at_once():
    before = seconds_of(resource.getrusage(resource.RUSAGE_CHILDREN))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "at work\n"
    time.sleep(1)
    until_then = seconds_so_far(process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    # Processor time, because others may be at work on this machine; each of the twenty sums takes
    # eight seconds and more of it.
    whole = seconds_of(resource.getrusage(resource.RUSAGE_CHILDREN)) - before
    assert whole - until_then < 3
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode in (1, 130, -signal.SIGINT)
