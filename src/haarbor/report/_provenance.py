"""Where a page comes from: settings, versions and the commands that make it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from haarbor.analysis import Question, question_before
from haarbor.report._run_name import run_name
from haarbor.store import RunPart
from haarbor.version import installed_versions

__all__ = ["commands", "library_versions", "run_settings"]

_OPTION_FLAGS = {
    "tree": "--tree",
    "n_iterations": "--iterations",
    "refine": "--refine",
    "initial": "--initial",
}


def run_settings(part: RunPart) -> dict[str, Any]:
    """What the run was captured and organised with."""
    plan = part.run.plan
    question = question_before(part)
    organization = part.load_result("organization", batch=part.batches[0])
    settings = organization.settings
    organised = {name: getattr(settings, name) for name in settings.__slots__}
    return {
        "captured": {
            "model": plan.model,
            "configuration": plan.config_digest,
            "stored as": plan.dtype,
            **{name: value for name, value in plan.settings.items() if name != "command"},
        },
        "organised": {name: _words(value) for name, value in organised.items()},
        "scored": {"functions per head": question.k, "functions of the network": question.network_k},
        "captured with": dict(plan.library_versions),
    }


def commands(parts: Sequence[RunPart], n_batches: int) -> list[str]:
    """Commands that make the page from the runs, one per line.

    Runs are named without their folders, so that the page is the same on every machine.
    """
    lines = []
    for part in parts:
        run = part.run
        captured = run.plan.settings.get("command")
        if isinstance(captured, str):
            lines.append(captured)
        question = question_before(part)
        changed = question.changed_options
        known = all(name in _OPTION_FLAGS for name in changed)
        if known and question == Question.asked(changed):
            options = [word for name, value in changed.items() for word in (_OPTION_FLAGS[name], str(value))]
            lines.append(shlex.join(["haarbor", "organize", run_name(run), *_part_flags([part]), *options]))
        else:
            lines.append(
                f"haarbor.analysis.organize_run(haarbor.open_run({run_name(run)!r}), "
                f"content={part.content!r}, stream={part.stream!r}, options={changed!r}, "
                f"k={question.k}, network_k={question.network_k})"
            )
    names = [run_name(part.run) for part in parts]
    shown = ["--batches", str(n_batches)] if n_batches != 1 else []
    lines.append(shlex.join(["haarbor", "report", *names, *_part_flags(parts), *shown]))
    return lines


def library_versions() -> dict[str, str]:
    """Versions of the libraries that make the page."""
    return installed_versions(("numpy", "plotly", "scipy", "zarr"))


def _part_flags(parts: Sequence[RunPart]) -> list[str]:
    """Options that ask for these parts, left out where they are the defaults."""
    usual = [part.run.part() for part in parts]
    flags = []
    if any(part.content != meant.content for part, meant in zip(parts, usual, strict=True)):
        flags += ["--content", parts[0].content]
    if any(part.stream != meant.stream for part, meant in zip(parts, usual, strict=True)):
        flags += ["--stream", parts[0].stream]
    return flags


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_words(item)}" for name, item in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_words, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
