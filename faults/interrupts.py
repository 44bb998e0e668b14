"""Commands interrupted as by Ctrl-C: they end at once and quietly, and go on when given again.

The moment is a share of the time that the command takes undisturbed. "From a cold start" is an
interpreter of its own, interrupted while it may still be importing.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from faults.haarbor_command import Command, Ended, ended_command
from faults.kills import same_as_undisturbed, whole_or_none
from faults.kind import Form, Kind
from faults.outcome import Outcome, defect, right
from faults.stored_sample import without_waiting
from faults.templates import COMMANDS, made_templates, scene, seconds

__all__ = ["KIND"]

_COLD = "organize from a cold start"
_CASES: dict[str, dict[Form, range]] = {
    "capture": {"short": range(1), "long": range(100)},
    "organize": {"short": range(1), "long": range(80)},
    "report": {"short": range(1), "long": range(60)},
    "figures": {"short": range(0), "long": range(20)},
    "prune": {"short": range(1), "long": range(40)},
    _COLD: {"short": range(1), "long": range(30)},
}
# Generous, because the machine may be busy; a command that waits for its work to end takes longer.
_PROMPT_SECONDS = 15.0
_COLD_SECONDS = 4.0


def _functions() -> Mapping[str, Mapping[Form, range]]:
    return _CASES


def _tried(function: str, seed: int, place: Path) -> Outcome:
    name = function.split()[0]
    rng = np.random.default_rng([seed, zlib.crc32(function.encode())])
    here = scene(place, name)
    if function == _COLD:
        ended, waited = _interrupted_cold(name, here, float(rng.uniform(0, _COLD_SECONDS)))
    else:
        running = Command(COMMANDS[name], here, without_waiting)
        time.sleep(float(rng.uniform(0, seconds(name))))
        running.send(signal.SIGINT)
        begin = time.monotonic()
        ended = running.ended(_PROMPT_SECONDS)
        waited = time.monotonic() - begin
    fault = _fault(ended, waited, cold=function == _COLD) or whole_or_none(name, here, must_be_there=False)
    if fault is not None:
        return defect(fault, ended.err)
    again = ended_command(COMMANDS[name], here, without_waiting)
    if again.code != 0:
        return defect(f"given again it fails: {again.err.strip()[-200:]}", again.err)
    fault = whole_or_none(name, here, must_be_there=True) or same_as_undisturbed(name, here)
    shutil.rmtree(here.parent)
    return right() if fault is None else defect(fault)


def _fault(ended: Ended, waited: float, *, cold: bool) -> str | None:
    if ended.code == -1000:
        return f"still running {waited:.0f} s after the interrupt"
    if "Traceback" in ended.err or "Exception ignored" in ended.err:
        return f"a traceback: {ended.err.strip().splitlines()[-1]}"
    # Before the interpreter has its handlers the signal itself ends it, which shells report as 130 too.
    expected = (0, 130, -signal.SIGINT) if cold else (0, 130)
    return None if ended.code in expected else f"exit code {ended.code}: {ended.err.strip()[-200:]!r}"


def _interrupted_cold(name: str, here: Path, moment: float) -> tuple[Ended, float]:
    paths = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path if entry)
    process = subprocess.Popen(
        [sys.executable, "-m", "haarbor", *COMMANDS[name]],
        cwd=here,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    try:
        out, err = process.communicate(timeout=_PROMPT_SECONDS)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        code = -1000
    waited = time.monotonic() - begin
    return Ended(code, out, err, moment + waited), waited


KIND = Kind(
    name="interrupts",
    title="commands interrupted, then given again",
    functions=_functions,
    tried=_tried,
    warm=made_templates,
    limit_seconds=240.0,
    cases_per_process=6,
)
