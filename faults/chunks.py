"""Chunks damaged: bits flipped, cut short, made longer, swapped, emptied, removed, in place of a folder."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from faults.damaged_store import damage_judged, restored, whole_sample
from faults.kind import Form, Kind
from faults.outcome import Outcome
from faults.spoilt import one_of

__all__ = ["KIND"]

_DAMAGES = ("bit flipped", "cut short", "made longer", "swapped", "removed", "emptied", "zeros", "a folder")


def _functions() -> Mapping[str, Mapping[Form, range]]:
    return {damage: {"short": range(30), "long": range(400)} for damage in _DAMAGES}


def _chunks(run: Path) -> list[str]:
    return sorted(path.relative_to(run).as_posix() for path in run.rglob("c*") if path.is_file())


def _tried(function: str, seed: int, place: Path) -> Outcome:
    run, before = whole_sample(place)
    rng = np.random.default_rng([seed, zlib.crc32(function.encode())])
    chunks = _chunks(run)
    key, other = one_of(rng, chunks), one_of(rng, chunks)
    with restored(run, key, other):
        _damage(function, rng, run / key, run / other)
        outcome = damage_judged(run, before)
    return outcome._replace(reason=f"[{key}] {outcome.reason}") if outcome.verdict == "defect" else outcome


def _damage(what: str, rng: np.random.Generator, path: Path, other: Path) -> None:
    data = bytearray(path.read_bytes())
    place = int(rng.integers(len(data)))
    if what == "bit flipped":
        data[place] ^= 1 << int(rng.integers(8))
    elif what == "cut short":
        del data[place:]
    elif what == "made longer":
        data[place:place] = rng.bytes(int(rng.integers(1, 40)))
    elif what == "swapped":
        mine = bytes(data)
        data = bytearray(other.read_bytes())
        other.write_bytes(mine)
    elif what == "emptied":
        data.clear()
    elif what == "zeros":
        data = bytearray(len(data))
    if what in ("removed", "a folder"):
        path.unlink()
    if what == "a folder":
        path.mkdir()
    elif what != "removed":
        path.write_bytes(data)


KIND = Kind(
    name="chunks",
    title="chunks damaged",
    functions=_functions,
    tried=_tried,
    cases_per_process=500,
)
