import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import haarbor as hb
from haarbor.engines import _cpu as cpu
from tests.assertions import assert_close


class Rows:
    """A block that is written out beforehand."""

    def __init__(self, rows, ends, targets):
        self.rows = rows
        self.section_ends = np.array(ends)
        self.section_targets = np.array(targets)
        self.dtype = rows.dtype

    def write_means(self, out):
        out[:] = self.rows


def plain_sum(blocks, n_items, n_targets):
    total = np.zeros((n_targets, n_items, n_items))
    for block in blocks:
        begin = 0
        for end, target in zip(block.section_ends, block.section_targets, strict=True):
            part = block.rows[:, begin:end].astype(float)
            total[target] += np.abs(part[:, None] - part[None]).sum(axis=2)
            begin = end
    return total


def some_blocks(rng, n_items, dtype):
    return [
        Rows(rng.normal(size=(n_items, 40)).astype(dtype), [16, 40], [0, 2]),
        Rows(rng.normal(size=(n_items, 9)).astype(dtype), [9], [2]),
        Rows(rng.normal(size=(n_items, 64)).astype(dtype), [32, 64], [1, 2]),
        *(Rows(rng.normal(size=(n_items, 33)).astype(dtype), [33], [w % 3]) for w in range(20)),
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_items", [1, 2, 7, 12])
def test_sections_of_blocks_add_to_their_targets(rng, n_items, dtype):
    blocks = some_blocks(rng, n_items, dtype)
    found = hb.CpuEngine(2).l1_sums(blocks, n_items, 3)
    assert found.dtype == np.float64
    assert_close(found, plain_sum(blocks, n_items, 3), dtype)


def test_sums_are_symmetric_with_a_zero_diagonal(rng):
    found = hb.CpuEngine(1).l1_sums(some_blocks(rng, 9, np.float32), 9, 3)
    assert (found == found.transpose(0, 2, 1)).all()
    assert (np.diagonal(found, axis1=1, axis2=2) == 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_sums_are_the_same_bits_for_any_number_of_threads(rng, threads, dtype):
    blocks = some_blocks(rng, 11, dtype)
    one = hb.CpuEngine(1).l1_sums(blocks, 11, 3)
    assert hb.CpuEngine(threads).l1_sums(blocks, 11, 3).tobytes() == one.tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_shared_between_threads_give_the_same_bits_as_blocks(rng, monkeypatch, threads, dtype):
    blocks = some_blocks(rng, 35, dtype)
    by_blocks = hb.CpuEngine(1).l1_sums(blocks, 35, 3)
    monkeypatch.setattr(cpu, "_LARGEST_CACHED", 34)
    assert hb.CpuEngine(threads).l1_sums(blocks, 35, 3).tobytes() == by_blocks.tobytes()


@pytest.mark.parametrize("limit", [1, 100])
def test_sparse_blocks_are_summed_to_rounding(rng, monkeypatch, limit):
    monkeypatch.setattr(cpu, "_LARGEST_CACHED", limit)
    blocks = some_blocks(rng, 35, np.float64)
    for block in blocks:
        block.rows *= rng.random(block.rows.shape) < 0.15
    found = [hb.CpuEngine(threads).l1_sums(blocks, 35, 3) for threads in (1, 3)]
    assert_close(found[0], plain_sum(blocks, 35, 3))
    assert found[0].tobytes() == found[1].tobytes()


def test_no_blocks_give_zeros():
    assert hb.CpuEngine(2).l1_sums([], 3, 2).tolist() == np.zeros((2, 3, 3)).tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_block_without_columns_adds_nothing(rng, threads):
    # A feature axis of one item has no raised folders: its blocks can be empty, also a thread's first.
    empty = Rows(np.empty((3, 0)), [0], [0])
    full = Rows(rng.normal(size=(3, 4)), [4], [1])
    found = hb.CpuEngine(threads).l1_sums([empty, full, empty], 3, 2)
    assert (found[0] == 0).all()
    assert_close(found[1], plain_sum([full], 3, 2)[1])


def test_an_error_while_means_are_formed_reaches_the_caller(rng):
    class Broken(Rows):
        def write_means(self, out):
            raise RuntimeError("no means")

    block = Broken(rng.normal(size=(3, 4)), [4], [0])
    with pytest.raises(RuntimeError, match="no means"):
        hb.CpuEngine(2).l1_sums([block], 3, 1)


def test_threads_default_to_the_usable_cores(monkeypatch):
    monkeypatch.setenv("HAARBOR_NUM_THREADS", "3")
    assert hb.CpuEngine().threads == 3
    assert repr(hb.CpuEngine(2)) == "CpuEngine(threads=2)"
    assert hb.CpuEngine(2).name == "cpu"


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True, 10**9, float("nan"), [2]])
def test_a_bad_number_of_threads_is_refused(threads):
    with pytest.raises(hb.SettingError, match=r"threads must be a whole number in 1\.\.1024; found"):
        hb.CpuEngine(threads)


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
