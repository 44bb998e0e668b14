"""Many runs in one process: memory and open files stay where they are.

Each case is one run organised, scored, written and read; the first ones of a process warm it, and
after every later one what the process holds is compared with what it held then.
"""

from __future__ import annotations

import functools
import gc
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import haarbor as hb
from faults.kind import Form, Kind
from faults.outcome import Outcome, defect, right
from faults.stored_sample import without_waiting
from haarbor.store import import_arrays, open_run

__all__ = ["KIND"]

_WARMING = 30
# Allocators keep some of what they were given back; a leak of a kilobyte a run would not be that.
_MOST_GROWTH_BYTES = 12 << 20


def _functions() -> Mapping[str, Mapping[Form, range]]:
    return {"organise, score, write, read": {"short": range(40), "long": range(1000)}}


@functools.cache
def _after_warming(place: Path) -> tuple[int, int]:
    for seed in range(_WARMING):
        _one_run(10_000 + seed, place)
    return _held()


def _held() -> tuple[int, int]:
    """Bytes of memory that this process holds, and files it has open."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE"), len(list(Path("/proc/self/fd").iterdir()))


def _one_run(seed: int, place: Path) -> bool:
    rng = np.random.default_rng(seed)
    weights = np.exp(rng.normal(size=(5, 6, 4)))
    X = weights / weights.sum(axis=1, keepdims=True)
    folder = place / "again.zarr"
    run = import_arrays(X, folder)
    organization = hb.organize(X)
    entropy = hb.head_entropy(X, organization.trees)
    run.save_result(organization, "organization", batch=0)
    run.save_result(entropy, "head-entropy", batch=0)
    opened = open_run(folder)
    same = np.array_equal(opened.load_result("head-entropy", batch=0).raw, entropy.raw)
    whole = np.allclose(np.asarray(opened.tensor(0)), X, atol=1e-6) and not opened.verify()
    shutil.rmtree(folder)
    return bool(same and whole)


def _tried(function: str, seed: int, place: Path) -> Outcome:
    without_waiting()
    os.environ["HAARBOR_NUM_THREADS"] = "2"
    memory, files = _after_warming(place)
    if not _one_run(seed, place):
        return defect("what is read is not what was written")
    memory_now, files_now = _held()
    if files_now > files:
        return defect(f"{files_now - files} more files are open than after {_WARMING} runs")
    if memory_now > memory + _MOST_GROWTH_BYTES:
        return defect(f"{(memory_now - memory) / 1e6:.0f} MB more than after {_WARMING} runs")
    return right()


KIND = Kind(
    name="many_runs",
    title="many runs in one process",
    functions=_functions,
    tried=_tried,
    limit_seconds=120.0,
    cases_per_process=1000,
)
