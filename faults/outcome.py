"""What a case can come to: right, refused in one good line, or a defect."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

__all__ = ["Outcome", "Verdict", "defect", "refusal_fault", "refused", "right"]

Verdict = Literal["right", "refused", "defect"]

MOST_CHARACTERS = 600
# Control and formatting characters, halves of surrogate pairs, and what breaks a line.
_NOT_IN_A_LINE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_SENTENCE_END = re.compile(r"[.!?][)\]'\"`]*(?:\s|$)")


class Outcome(NamedTuple):
    """Verdict on a case, and the reason in one line."""

    verdict: Verdict
    reason: str = ""
    trace: str = ""
    """Where it happened, for a defect that was an exception."""


def right() -> Outcome:
    """The answer was given, and every law it was held to is kept."""
    return Outcome("right")


def refused(reason: str) -> Outcome:
    """The answer was refused as the house rules ask; else a defect."""
    fault = refusal_fault(reason)
    return Outcome("refused", reason) if fault is None else defect(f"refusal {fault}: {reason}")


def defect(reason: str, trace: str = "") -> Outcome:
    """Anything else."""
    return Outcome("defect", _printable(reason), trace)


def refusal_fault(text: str) -> str | None:
    """What is wrong with the line that refuses something; None if it is as it should be.

    A refusal is one line, free of control characters, not too long to read, and of two sentences
    at least: what must hold and what was found, then what to do.

    Examples
    --------
    >>> refusal_fault("k must be at least 1; found 0. Ask for one function or more.")
    >>> refusal_fault("k must be at least 1; found 0.")
    'does not say what to do'
    """
    if not text.strip():
        return "is empty"
    if any(unicodedata.category(letter) in _NOT_IN_A_LINE for letter in text):
        return "is more than a line, or holds control characters"
    if len(text) > MOST_CHARACTERS:
        return f"has {len(text)} characters"
    if len(_SENTENCE_END.findall(text)) < 2:
        return "does not say what to do"
    return None


def _printable(text: str) -> str:
    shown = "".join(
        letter if unicodedata.category(letter) not in _NOT_IN_A_LINE else repr(letter)[1:-1]
        for letter in text
    )
    return shown if len(shown) <= MOST_CHARACTERS else shown[: MOST_CHARACTERS - 3] + "..."
