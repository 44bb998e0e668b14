"""Files that another made: malformed, absurd, of the wrong sort, or meant to do harm.

Whatever is read must be refused in one line or read rightly, without running what is in the file,
without reaching for a network, and without waiting for a pipe that never speaks.
"""

from __future__ import annotations

import functools
import itertools
import resource
import socket
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from faults.hostile_array_files import ARRAY_FILES
from faults.hostile_file import HostileFile
from faults.hostile_network_files import NETWORK_FILES, timm_where_it_is
from faults.hostile_run_files import RUN_FILES
from faults.judged_call import judged
from faults.kind import Form, Kind
from faults.outcome import Outcome, defect
from faults.stored_sample import without_waiting
from faults.templates import made_templates

__all__ = ["KIND"]

_FILES: dict[str, HostileFile] = {**ARRAY_FILES, **RUN_FILES, **NETWORK_FILES}
_NUMBERS = itertools.count()
_ROOM_BYTES = 2 << 30


def _functions() -> Mapping[str, Mapping[Form, range]]:
    return {name: {"short": range(file.n_short), "long": range(file.n_long)} for name, file in _FILES.items()}


def _tried(function: str, seed: int, place: Path) -> Outcome:
    without_waiting()
    _limit_memory()
    rng = np.random.default_rng([seed, zlib.crc32(function.encode())])
    here = place / f"files-{next(_NUMBERS)}"
    here.mkdir()
    called: list[str] = []
    with _unreachable(called):
        prepared = _FILES[function].make(rng, seed, here)
        outcome = judged(prepared.read, prepared.law, demand=prepared.demand)
    note = f"[{prepared.name}] "
    if (here / "executed").exists() or (place / "executed").exists():
        (here / "executed").unlink(missing_ok=True)
        return defect(f"{note}code in the file was run")
    if called:
        return defect(f"{note}a network was reached for: {called[0]}")
    return outcome._replace(reason=note + outcome.reason) if outcome.verdict == "defect" else outcome


@functools.cache
def _limit_memory() -> None:
    """A file that is taken at its word may ask for any amount."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    room = pages * resource.getpagesize() + _ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (room, resource.getrlimit(resource.RLIMIT_AS)[1]))


@contextmanager
def _unreachable(called: list[str]) -> Iterator[None]:
    """Block in which no network is there, and attempts to reach one are kept."""

    def refuse(*arguments: Any, **options: Any) -> Any:
        called.append(repr(arguments))
        raise OSError("no network here")

    with patch.object(socket.socket, "connect", refuse), patch.object(socket, "getaddrinfo", refuse):
        yield


def _warm() -> None:
    made_templates()
    timm_where_it_is()


KIND = Kind(
    name="hostile_files",
    title="files made by another",
    functions=_functions,
    tried=_tried,
    warm=_warm,
    limit_seconds=40.0,
    cases_per_process=60,
)
