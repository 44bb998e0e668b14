"""Calls with good and hostile arguments, each function by itself.

A third of the calls have good arguments and must be answered rightly. The others have one argument
spoilt, some of them two: what has no answer must be refused, what is the same in disguise must give
the same answer, and what is extreme must be answered rightly or refused.
"""

from __future__ import annotations

import itertools
import os
import warnings
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from faults import subjects  # noqa: F401  (fills SUBJECTS)
from faults.answers import difference, kept_bytes, not_finite
from faults.judged_call import Demand, judged
from faults.kind import Form, Kind
from faults.outcome import Outcome
from faults.spoilt import Spoilt, one_of
from faults.subject import SUBJECTS, Call
from haarbor.errors import HaarborError

__all__ = ["KIND"]

# Functions that run a network or write a run take a thousand times longer than the others.
_SLOW = {
    "load_model": 20,
    "organize_run": 30,
    "heal": 30,
    "ablate": 40, "capture": 40, "load_pruned": 20, "import_arrays": 60, "create_run": 60, "open_run": 40,
    "Run": 60, "run results": 60, "results file": 60, "consensus": 90, "organize": 180,
}  # fmt: skip
_SHORT, _LONG = 90, 26
_NUMBERS = itertools.count()


def _functions() -> Mapping[str, Mapping[Form, range]]:
    return {
        name: {
            "short": range(_SLOW.get(name, _SHORT)),
            "long": range(_LONG * _SLOW.get(name, _SHORT)),
        }
        for name in SUBJECTS
    }


def _tried(function: str, seed: int, place: Path) -> Outcome:
    rng = np.random.default_rng([seed, zlib.crc32(function.encode())])
    # What a call leaves behind is not there for the next one.
    here = place / f"call-{next(_NUMBERS)}"
    here.mkdir()
    os.chdir(here)
    call = SUBJECTS[function](rng)
    spoilt = _spoilt_arguments(rng, call)
    arguments = {**call.arguments, **{name: found.value for name, found in spoilt.items()}}
    kept = {name: kept_bytes(value) for name, value in arguments.items()}
    good = not spoilt or (_demand(spoilt) == "refused" and call.fits(arguments))
    note = ", ".join(f"{name}: {found.name}" for name, found in spoilt.items())

    def law(answer: Any) -> str | None:
        for name, value in arguments.items():
            if kept_bytes(value) != kept[name]:
                return f"the argument {name} was changed"
        return (
            not_finite(answer, call.nan_allowed)
            or call.always(answer, arguments)
            or (call.law(answer, arguments) if good else _against_plain(call, spoilt, answer))
        )

    outcome = judged(lambda: call.function(**arguments), law, demand="right" if good else _demand(spoilt))
    if outcome.verdict == "defect":
        return outcome._replace(reason=f"[{note or 'good arguments'}] {outcome.reason}")
    return outcome


def _spoilt_arguments(rng: np.random.Generator, call: Call) -> dict[str, Spoilt]:
    if rng.random() < 1 / 3 or not call.spoil:
        return {}
    names = [one_of(rng, call.spoil) for _ in range(1 if rng.random() < 0.9 else 2)]
    return {name: call.spoil[name](rng, call.arguments.get(name)) for name in names}


def _demand(spoilt: Mapping[str, Spoilt]) -> Demand:
    demands = {found.demand for found in spoilt.values()}
    if "refused" in demands:
        return "refused"
    return "right" if demands <= {"same"} else "either"


def _against_plain(call: Call, spoilt: Mapping[str, Spoilt], answer: Any) -> str | None:
    """Difference from the answer to the plain arguments that must give the same one, or a scaled one."""
    if all(found.demand in ("same", "alike") for found in spoilt.values()):
        plain = {
            name: call.arguments[name] if found.like is None else found.like for name, found in spoilt.items()
        }
        found = difference(answer, call.function(**{**call.arguments, **plain}))
        return None if found is None else f"another answer than for the same in plain form: {found}"
    (first, *more) = spoilt.items()
    name, value = first
    if more or value.exponent is None or call.scaled is None or _lost_entries(value):
        return None
    if value.exponent < np.finfo(value.like.dtype).minexp + 60 and not call.scaled_to_the_last:
        return None
    try:
        plain = call.function(**{**call.arguments, name: value.like})
    except HaarborError:
        return None
    expected = call.scaled(plain, value.exponent)
    if not_finite(expected, call.nan_allowed) is not None:
        return f"the answer is beyond the numbers there are, and {answer!r} was given"
    found = difference(answer, expected, tol=call.tol, rounding=call.rounding)
    return None if found is None else f"scaling the input by 2^{value.exponent} changed the answer: {found}"


def _lost_entries(value: Spoilt) -> bool:
    """Whether entries are so small beside the others that scaling made zeros of them."""
    return not np.array_equal(np.asarray(value.like) == 0, np.asarray(value.value) == 0)


def _warm() -> None:
    """Load what numba compiled, on one thread: no thread survives the forks to come."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in SUBJECTS.items():
            for seed in range(4 if name not in _SLOW or name in ("organize", "consensus") else 0):
                call = make(np.random.default_rng(seed))
                call.function(**call.arguments)


KIND = Kind(
    name="calls",
    title="calls with good and hostile arguments",
    functions=_functions,
    tried=_tried,
    warm=_warm,
    limit_seconds=40.0,
    cases_per_process=400,
)
