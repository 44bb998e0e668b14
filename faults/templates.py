"""What the commands work on, made once: a network, token ids, and what undisturbed commands make of them."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from faults.forked_cases import forked_answer
from faults.haarbor_command import ended_command, warm_command
from faults.small_network import save_network
from faults.stored_sample import without_waiting

__all__ = [
    "CHANGES",
    "COMMANDS",
    "OUTPUT",
    "concerns",
    "files_below",
    "made_templates",
    "operations",
    "scene",
    "seconds",
    "template",
]

COMMANDS: dict[str, tuple[str, ...]] = {
    "capture": ("capture", "network", "--data", "ids.npy", "--out", "run.zarr", "--batches", "3", "--logits",
                "--tokens", "8"),
    "organize": ("organize", "run.zarr"),
    "report": ("report", "run.zarr", "--out", "page.html"),
    "figures": ("figures", "run.zarr", "-o", "figures"),
    "prune": ("prune", "network", "--data", "ids.npy", "--out", "pruned", "--budget", "0.25", "--quick",
    "--scores",
              "leftover,norm", "--calibration", "2", "--evaluation", "4", "--tokens", "8", "--seeds", "1"),
}  # fmt: skip
OUTPUT = {
    "capture": "run.zarr",
    "organize": "run.zarr",
    "report": "page.html",
    "figures": "figures",
    "prune": "pruned",
}
_NEEDS = {"organize": "capture", "report": "organize", "figures": "organize"}
# Events that change files, by Python's own account.
CHANGES = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}

_MADE: dict[str, Any] = {}


def made_templates() -> None:
    """Make the templates, once, in a process of its own; they are gone when this one ends."""
    # It takes its files from the templates.
    from faults.hostile_network_files import timm_where_it_is

    warm_command()
    # Other kinds import it too, and a run records the version of timm where it is imported.
    timm_where_it_is()
    if _MADE:
        return
    folder = Path(tempfile.mkdtemp(prefix="haarbor-faults-templates-"))
    maker = os.getpid()
    atexit.register(lambda: os.getpid() == maker and shutil.rmtree(folder, ignore_errors=True))
    _MADE.update(forked_answer(lambda: _written(folder)), folder=str(folder))
    folder.chmod(0o755)


def _written(folder: Path) -> dict[str, Any]:
    without_waiting()
    os.chdir(folder)
    save_network(folder)
    for path in (folder / "network").iterdir():
        path.chmod(0o644)
    found: dict[str, Any] = {"seconds": {}, "operations": {}}
    for name, words in COMMANDS.items():
        place = folder / f"straight-{name}"
        _furnish(place, folder, name)
        ended = ended_command(
            words, place, lambda name=name, place=place: _counting(place), limit_seconds=300
        )
        if ended.code != 0:
            raise RuntimeError(f"haarbor {' '.join(words)} failed undisturbed: {ended.err}")
        found["seconds"][name] = ended.seconds
        found["operations"][name] = int((folder / f"straight-{name}.count").read_text())
    return found


def _counting(place: Path) -> None:
    """Count the operations on files of a folder, in a file beside it."""
    count = 0

    def hook(event: str, arguments: Sequence[Any]) -> None:
        nonlocal count
        if event in CHANGES and concerns(place, arguments):
            count += 1

    sys.addaudithook(hook)
    leave = os._exit

    def told(code: int) -> None:
        total = count
        place.with_name(place.name + ".count").write_text(str(total))
        leave(code)

    os._exit = told


def concerns(place: Path, arguments: Sequence[Any]) -> bool:
    """Whether an audit event is about a file that a command made in `place`."""
    name = os.fsdecode(arguments[0]) if isinstance(arguments[0], (str, bytes, os.PathLike)) else ""
    inside = name.startswith(str(place)) or (name != "" and not name.startswith("/"))
    return inside and any(output in name for output in OUTPUT.values())


def _furnish(place: Path, folder: Path, name: str) -> None:
    place.mkdir()
    (place / "network").symlink_to(folder / "network")
    (place / "ids.npy").symlink_to(folder / "ids.npy")
    if name in _NEEDS:
        needed = _NEEDS[name]
        shutil.copytree(folder / f"straight-{needed}" / OUTPUT[needed], place / OUTPUT[needed])


def template(name: str) -> Path:
    """Folder in which the undisturbed command of a name was run."""
    return Path(_MADE["folder"]) / f"straight-{name}"


def seconds(name: str) -> float:
    """How long the undisturbed command took."""
    return float(_MADE["seconds"][name])


def operations(name: str) -> int:
    """How many operations on files of its output the undisturbed command made."""
    return int(_MADE["operations"][name])


def scene(place: Path, name: str) -> Path:
    """A new folder below `place` in which the command of a name can be run."""
    found = Path(tempfile.mkdtemp(dir=place)) / "here"
    _furnish(found, Path(_MADE["folder"]), name)
    return found


def files_below(folder: Path) -> dict[str, bytes]:
    """Bytes of every file below a folder, or of the file itself, locks left out."""
    if folder.is_file():
        return {folder.name: folder.read_bytes()}
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    }
