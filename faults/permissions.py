"""Files and folders that may not be read or written: one line, and nothing worse.

Commands run as a user without rights where the campaign itself is run by root, else as who runs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

import haarbor
from faults.haarbor_command import Ended, ended_command, one_line_judged
from faults.kind import Form, Kind
from faults.outcome import Outcome, right
from faults.small_disk import read_only_folder
from faults.spoilt import one_of
from faults.stored_sample import without_waiting
from faults.templates import COMMANDS, OUTPUT, made_templates, scene

__all__ = ["KIND"]

_NOBODY = 65534
_INFO = ("info", "run.zarr", "--verify")
_READERS = {"info": _INFO, "organize": COMMANDS["organize"], "report": COMMANDS["report"]}


def _unprivileged() -> None:
    """Become a user without rights, and without a home."""
    without_waiting()
    os.environ["HOME"] = "/nonexistent"
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)


def _owned(here: Path) -> None:
    """Give a scene to the user without rights, everything in it readable and writable."""
    for path in (here.parent.parent, here.parent):
        path.chmod(0o755)
    for path in (here, *here.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, _NOBODY, _NOBODY, follow_symlinks=False)
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


def _taken(path: Path, mode: int) -> None:
    """Give a path to root and set its mode; without root, the mode alone."""
    if os.geteuid() == 0:
        os.chown(path, 0, 0)
    path.chmod(mode)


def _ran(here: Path, words: Sequence[str]) -> Outcome:
    ended = ended_command(words, here, _unprivileged)
    listed = words[0] == "info" and ended.code == 1 and ended.out.strip() and not ended.err.strip()
    # What info finds damaged is its answer, and stands where answers stand.
    return right() if ended.code == 0 or listed else one_line_judged(ended)


def _parent_closed(rng: np.random.Generator, place: Path) -> Outcome:
    here = scene(place, "report")
    _owned(here)
    closed = here / "closed"
    closed.mkdir()
    shutil.move(here / "run.zarr", closed / "run.zarr")
    _taken(closed, 0o700 if os.geteuid() == 0 else 0o000)
    words = [word.replace("run.zarr", "closed/run.zarr") for word in one_of(rng, _READERS.values())]
    try:
        return one_line_judged(ended_command(words, here, _unprivileged))
    finally:
        closed.chmod(0o700)


def _run_read_only(rng: np.random.Generator, place: Path) -> Outcome:
    here = scene(place, one_of(rng, ("report", "organize")))
    _owned(here)
    for path in (here / "run.zarr", *(here / "run.zarr").rglob("*")):
        _taken(path, 0o555 if path.is_dir() else 0o444)
    return _ran(here, one_of(rng, [*_READERS.values(), COMMANDS["capture"]]))


def _file_closed(pattern: str) -> Callable[[np.random.Generator, Path], Outcome]:
    def tried(rng: np.random.Generator, place: Path) -> Outcome:
        here = scene(place, "report")
        _owned(here)
        _taken(one_of(rng, sorted((here / "run.zarr").glob(pattern))), 0o000)
        return _ran(here, one_of(rng, _READERS.values()))

    return tried


def _output_closed(rng: np.random.Generator, place: Path) -> Outcome:
    name = one_of(rng, ("capture", "report", "prune", "figures"))
    here = scene(place, name)
    _owned(here)
    (here / "shut").mkdir()
    _taken(here / "shut", 0o555)
    words = [
        f"shut/{word}" if place and word == OUTPUT[name] else word
        for place, word in enumerate(COMMANDS[name])
    ]
    return one_line_judged(ended_command(words, here, _unprivileged))


def _input_closed(rng: np.random.Generator, place: Path) -> Outcome:
    name = one_of(rng, ("capture", "prune"))
    here = scene(place, name)
    for link in ("network", "ids.npy"):
        source = (here / link).resolve()
        (here / link).unlink()
        (shutil.copytree if source.is_dir() else shutil.copy)(source, here / link)
    _owned(here)
    files = ("ids.npy", "network/config.json", "network/model.safetensors")
    _taken(here / one_of(rng, files), 0o000)
    return one_line_judged(ended_command(COMMANDS[name], here, _unprivileged))


def _lock_of_another(rng: np.random.Generator, place: Path) -> Outcome:
    name = one_of(rng, ("capture", "organize"))
    here = scene(place, name)
    (here / "run.zarr").mkdir(exist_ok=True)
    _owned(here)
    for lock in (".writer.lock", ".results.lock"):
        (here / "run.zarr" / lock).write_text("1\n", encoding="ascii")
        _taken(here / "run.zarr" / lock, 0o600 if os.geteuid() == 0 else 0o000)
    return _ran(here, COMMANDS[name])


def _no_home(rng: np.random.Generator, place: Path) -> Outcome:
    """A cold start where compiled code can be kept neither beside the package nor at home."""
    here = scene(place, "organize")
    paths = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path if entry)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": paths,
        "HOME": "/proc",
        "XDG_CACHE_HOME": "/proc",
    }
    with read_only_folder(Path(haarbor.__file__).parent):
        done = subprocess.run(
            [sys.executable, "-m", "haarbor", *COMMANDS["organize"]],
            cwd=here,
            env=environment,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
    ended = Ended(done.returncode, done.stdout, done.stderr, 0.0)
    return right() if ended.code == 0 else one_line_judged(ended)


_TRIED: dict[str, Callable[[np.random.Generator, Path], Outcome]] = {
    "folder above closed": _parent_closed,
    "run read-only": _run_read_only,
    "chunk closed": _file_closed("**/c.*"),
    "description closed": _file_closed("**/zarr.json"),
    "output closed": _output_closed,
    "input closed": _input_closed,
    "lock of another user": _lock_of_another,
    "nowhere to keep compiled code": _no_home,
}


@cache
def _closed_to_others() -> Path | None:
    """First folder on the way to the package or to Python that a user without rights may not enter."""
    if os.geteuid() != 0:
        return None
    for file in (Path(haarbor.__file__).resolve(), Path(sys.prefix).resolve() / "lib"):
        for folder in reversed(file.parents):
            if not folder.stat().st_mode & 0o001:
                return folder
    return None


def _functions() -> Mapping[str, Mapping[Form, range]]:
    once: Mapping[Form, range] = {"short": range(1), "long": range(1)}
    several: Mapping[Form, range] = {"short": range(1), "long": range(30)}
    if closed := _closed_to_others():
        sys.stderr.write(
            f"permissions: closed files are left out, because a user without rights may not enter {closed}. "
            "Run the campaign from a folder that is open to all.\n"
        )
        return {"nowhere to keep compiled code": once}
    return {name: once if tried is _no_home else several for name, tried in _TRIED.items()}


def _tried(function: str, seed: int, place: Path) -> Outcome:
    rng = np.random.default_rng([seed, zlib.crc32(function.encode())])
    return _TRIED[function](rng, place)


KIND = Kind(
    name="permissions",
    title="files and folders that are closed",
    functions=_functions,
    tried=_tried,
    warm=made_templates,
    limit_seconds=240.0,
    cases_per_process=8,
)
