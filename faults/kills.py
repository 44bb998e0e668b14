"""Commands killed, then given again: what they leave is as if nothing had happened.

An even seed kills before an operation on the files of the output, counted by Python's own audit
events, so that it is the same one every time; an odd one after a share of the time that the command
takes undisturbed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from faults.haarbor_command import Command, ended_command
from faults.kind import Form, Kind
from faults.outcome import Outcome, defect, right
from faults.stored_sample import without_waiting
from faults.templates import (
    CHANGES,
    COMMANDS,
    OUTPUT,
    concerns,
    files_below,
    made_templates,
    operations,
    scene,
    seconds,
    template,
)
from haarbor.errors import HaarborError
from haarbor.store import open_run

__all__ = ["KIND", "same_as_undisturbed", "whole_or_none"]

_CASES: dict[str, dict[Form, range]] = {
    "capture": {"short": range(2), "long": range(300)},
    "organize": {"short": range(1), "long": range(150)},
    "prune": {"short": range(1), "long": range(80)},
    "prune over an older one": {"short": range(1), "long": range(80)},
}


def _functions() -> Mapping[str, Mapping[Form, range]]:
    return _CASES


def _tried(function: str, seed: int, place: Path) -> Outcome:
    name = function.split()[0]
    rng = np.random.default_rng([seed, zlib.crc32(function.encode())])
    here = scene(place, name)
    older = function.endswith("older one")
    if older:
        shutil.copytree(template(name) / OUTPUT[name], here / OUTPUT[name])
    _killed(name, rng, here, by_operation=seed % 2 == 0)
    fault = whole_or_none(name, here, must_be_there=older)
    if fault is not None:
        return defect(fault)
    again = ended_command(COMMANDS[name], here, without_waiting)
    if again.code != 0:
        return defect(f"given again it fails: {again.err.strip()[-200:]}", again.err)
    fault = whole_or_none(name, here, must_be_there=True) or same_as_undisturbed(name, here)
    shutil.rmtree(here.parent)
    return right() if fault is None else defect(fault)


def _killed(name: str, rng: np.random.Generator, here: Path, *, by_operation: bool) -> None:
    if by_operation:
        number = int(rng.integers(1, operations(name) + 1))
        Command(COMMANDS[name], here, lambda: _dies_at(number, here)).ended()
        return
    running = Command(COMMANDS[name], here, without_waiting)
    time.sleep(float(rng.uniform(0, seconds(name))))
    running.send(signal.SIGKILL)
    running.ended()


def _dies_at(number: int, place: Path) -> None:
    """Die before the `number`-th operation on the files of the output."""
    without_waiting()
    count = 0

    def hook(event: str, arguments: Sequence[Any]) -> None:
        nonlocal count
        if event in CHANGES and concerns(place, arguments):
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def whole_or_none(name: str, here: Path, *, must_be_there: bool) -> str | None:
    """What is wrong with the output of a command that may have been cut off; None if nothing is."""
    output = here / OUTPUT[name]
    if name == "prune":
        return _checkpoint_fault(output / "model", must_be_there=must_be_there)
    if name in ("report", "figures") or not output.exists():
        return None
    try:
        damages = open_run(output).verify()
    except HaarborError as error:
        return None if not (output / "zarr.json").exists() else f"the run cannot be opened: {error}"
    return f"the run is damaged: {damages[0]}" if damages else None


def _checkpoint_fault(folder: Path, *, must_be_there: bool) -> str | None:
    import torch

    from haarbor import load_pruned

    try:
        logits = load_pruned(folder)(torch.arange(5)[None]).logits
    except HaarborError as error:
        return f"there is no whole checkpoint: {error}" if must_be_there else None
    return None if bool(torch.isfinite(logits).all()) else "the checkpoint answers with NaN"


def same_as_undisturbed(name: str, here: Path) -> str | None:
    """First file that differs from those of the undisturbed command; None if none does."""
    if name == "prune":
        # Its results hold times, which differ; the checkpoint was looked at.
        return None
    found, expected = (files_below(folder / OUTPUT[name]) for folder in (here, template(name)))
    other = sorted(key for key in {*found, *expected} if found.get(key) != expected.get(key))
    if not other:
        return None
    state = "is there" if other[0] not in expected else "is missing" if other[0] not in found else "differs"
    return f"{len(other)} files are not those of an undisturbed command: {other[0]} {state}"


KIND = Kind(
    name="kills",
    title="commands killed, then given again",
    functions=_functions,
    tried=_tried,
    warm=made_templates,
    limit_seconds=240.0,
    cases_per_process=8,
)
