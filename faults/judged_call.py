"""One call into Haarbor, judged: what it answered, what it said, and what it must not do."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from typing import Any, Literal

from faults.outcome import Outcome, defect, refusal_fault, refused, right
from haarbor.errors import HaarborError, HaarborWarning

__all__ = ["Demand", "judged"]

Demand = Literal["right", "refused", "either"]


def judged(
    act: Callable[[], Any],
    law: Callable[[Any], str | None] = lambda answer: None,
    *,
    demand: Demand = "either",
) -> Outcome:
    """Outcome of a call.

    Parameters
    ----------
    act : function without arguments
        The call.
    law : function of the answer
        What is wrong with the answer, in words; None if nothing is.
    demand : {"right", "refused", "either"}, default "either"
        Whether a good input must be answered, a bad one refused, or either will do.

    Returns
    -------
    Outcome
        A defect where anything but a HaarborError is raised, a library warns, the law is broken, or
        the demand is not met.
    """
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            answer = act()
        except HaarborError as error:
            if demand == "right":
                return defect(f"a good input was refused: {type(error).__name__}: {error}", _trace(error))
            return refused(str(error))
        except (Exception, SystemExit) as error:
            first = (str(error).splitlines() or [""])[0]
            return defect(f"{type(error).__name__}: {first}", _trace(error))
    if demand == "refused":
        return defect(f"answered what must be refused: {_short(answer)}")
    for warning in heard:
        said = str(warning.message)
        if not issubclass(warning.category, HaarborWarning):
            return defect(f"warned: {warning.category.__name__}: {said.splitlines()[0] if said else ''}")
        fault = refusal_fault(said)
        if fault is not None:
            return defect(f"warning {fault}: {said}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            broken = law(answer)
        except Exception as error:
            return defect(f"its answer cannot be used: {type(error).__name__}: {error}", _trace(error))
    return right() if broken is None else defect(broken)


def _trace(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def _short(answer: Any) -> str:
    text = " ".join(repr(answer).split())
    return text if len(text) <= 120 else text[:117] + "..."
