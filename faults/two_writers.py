"""Two commands on the same files at once: one waits or is refused in one line, and all is whole after."""

from __future__ import annotations

import shutil
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from faults.haarbor_command import Command, ended_command, one_line_judged
from faults.kills import same_as_undisturbed, whole_or_none
from faults.kind import Form, Kind
from faults.outcome import Outcome, defect, right
from faults.stored_sample import without_waiting
from faults.templates import COMMANDS, made_templates, scene, seconds

__all__ = ["KIND"]

_PAIRS = {
    "capture and capture": ("capture", "capture"),
    "organize and organize": ("organize", "organize"),
    "capture and organize": ("capture", "organize"),
    "organize and report": ("organize", "report"),
    "report and report": ("report", "report"),
    "prune and prune": ("prune", "prune"),
}


def _functions() -> Mapping[str, Mapping[Form, range]]:
    return {pair: {"short": range(1), "long": range(40)} for pair in _PAIRS}


def _tried(function: str, seed: int, place: Path) -> Outcome:
    one, other = _PAIRS[function]
    rng = np.random.default_rng([seed, zlib.crc32(function.encode())])
    here = scene(place, one)
    first = Command(COMMANDS[one], here, without_waiting)
    time.sleep(float(rng.uniform(0, 1)) ** 3 * seconds(one))
    second = Command(COMMANDS[other], here, without_waiting, name="second")
    outcomes = []
    for running in (first, second):
        ended = running.ended(150.0)
        outcomes.append(right() if ended.code == 0 else one_line_judged(ended))
    for outcome in outcomes:
        if outcome.verdict == "defect":
            return outcome
    for name in dict.fromkeys((one, other)):
        again = ended_command(COMMANDS[name], here, without_waiting)
        if again.code != 0:
            return defect(f"given again {name} fails: {again.err.strip()[-200:]}", again.err)
        fault = whole_or_none(name, here, must_be_there=True)
        if fault is None and name == other:
            fault = same_as_undisturbed(name, here)
        if fault is not None:
            return defect(f"after both {fault}")
    shutil.rmtree(here.parent)
    return next((outcome for outcome in outcomes if outcome.verdict == "refused"), right())


KIND = Kind(
    name="two_writers",
    title="two commands at once",
    functions=_functions,
    tried=_tried,
    warm=made_templates,
    limit_seconds=400.0,
    cases_per_process=6,
)
