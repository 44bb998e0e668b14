"""Commands on a disk that fills up: one line, nothing lost, and they go on when there is room.

An even seed leaves too few bytes, an odd one too few files. Where no disk can be mounted, the size
of a file is limited instead. "Standard output full" prints to a place that takes nothing.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from faults.haarbor_command import Ended, ended_command, one_line_judged
from faults.kills import same_as_undisturbed, whole_or_none
from faults.kind import Form, Kind
from faults.outcome import Outcome, defect, right
from faults.small_disk import bytes_on_disk, disk_of, files_on_disk, grown_disk
from faults.stored_sample import without_waiting
from faults.templates import COMMANDS, OUTPUT, made_templates, scene, template

__all__ = ["KIND"]

_PRINTED = "standard output full"
_LINKED = "report to a device that is full"
_OLDER = "what an earlier command wrote"
_CASES: dict[str, dict[Form, range]] = {
    "capture": {"short": range(1), "long": range(120)},
    "organize": {"short": range(1), "long": range(80)},
    "report": {"short": range(1), "long": range(60)},
    "figures": {"short": range(1), "long": range(20)},
    "prune": {"short": range(1), "long": range(40)},
    _PRINTED: {"short": range(2), "long": range(4)},
    _LINKED: {"short": range(1), "long": range(1)},
}


def _functions() -> Mapping[str, Mapping[Form, range]]:
    return _CASES


def _tried(function: str, seed: int, place: Path) -> Outcome:
    if function == _PRINTED:
        return _printed_nowhere(seed, place)
    if function == _LINKED:
        return _written_to_device(place)
    rng = np.random.default_rng([seed, zlib.crc32(function.encode())])
    disk = Path(tempfile.mkdtemp(dir=place))
    needed = template(function)
    before = scene(place, function)
    share = float(rng.uniform(0, 1.2))
    room = [
        int(measure(before) + share * (measure(needed) - measure(before)))
        for measure in (bytes_on_disk, files_on_disk)
    ]
    few_bytes, few_files = (room[0] + 8192, 100_000), (1 << 30, room[1] + 4)
    mounted = disk_of(disk, *(few_bytes if seed % 2 == 0 else few_files))
    here = disk / "here"
    shutil.copytree(before, here, symlinks=True)
    older = function == "report" and seed % 3 == 0
    if older:
        (here / OUTPUT[function]).write_text(_OLDER, encoding="ascii")
    ended = ended_command(COMMANDS[function], here, without_waiting if mounted else _small_files(rng))
    outcome = _judged(function, here, ended, older=older)
    if outcome.verdict == "defect":
        return outcome
    if mounted:
        grown_disk(disk)
    again = ended_command(COMMANDS[function], here, without_waiting)
    if again.code != 0:
        return defect(f"with room again it fails: {again.err.strip()[-200:]}", again.err)
    fault = whole_or_none(function, here, must_be_there=True) or same_as_undisturbed(function, here)
    return outcome if fault is None else defect(f"with room again {fault}")


def _judged(name: str, here: Path, ended: Ended, *, older: bool) -> Outcome:
    outcome = right() if ended.code == 0 else one_line_judged(ended)
    if outcome.verdict == "defect":
        return outcome
    fault = whole_or_none(name, here, must_be_there=False)
    if fault is not None:
        return defect(fault)
    output = here / OUTPUT[name]
    if ended.code != 0 and older and output.read_text(encoding="utf-8") != _OLDER:
        return defect("what an earlier command wrote is lost, and nothing whole is in its place")
    if ended.code != 0 and name == "report" and not older and output.exists():
        return defect("half a page is left behind")
    return outcome


def _small_files(rng: np.random.Generator) -> Callable[[], None]:
    limit = int(2 ** rng.uniform(6, 16))

    def before() -> None:
        without_waiting()
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    return before


def _printed_nowhere(seed: int, place: Path) -> Outcome:
    here = scene(place, "report")
    words = (
        ("info", "run.zarr"),
        ("organize", "run.zarr"),
        ("info", "run.zarr", "--json"),
        ("info", "--help"),
    )

    def before() -> None:
        os.dup2(os.open("/dev/full", os.O_WRONLY), 1)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)

    return one_line_judged(ended_command(words[seed % len(words)], here, before))


def _written_to_device(place: Path) -> Outcome:
    here = scene(place, "report")
    (here / OUTPUT["report"]).symlink_to("/dev/full")
    ended = ended_command(COMMANDS["report"], here, without_waiting)
    if not Path("/dev/full").is_char_device():
        return defect("the device is gone")
    return right() if ended.code == 0 else one_line_judged(ended)


KIND = Kind(
    name="full_disks",
    title="disks that fill up",
    functions=_functions,
    tried=_tried,
    warm=made_templates,
    limit_seconds=240.0,
    cases_per_process=6,
)
