"""Where a page comes from: settings, versions and the commands that make it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from haarbor.analysis import Question, question_before
from haarbor.report._run_name import run_name
from haarbor.store import Run

__all__ = ["commands", "library_versions", "run_settings"]

_OPTION_FLAGS = {"n_iterations": "--iterations", "refine": "--refine", "initial": "--initial"}


def run_settings(run: Run, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """What the run was captured and organised with."""
    plan = run.plan
    question = question_before(run, chosen)
    organization = run.load_result("organization", batch=run.batches[0], **chosen)
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
        "scored": {"functions a head": question.k, "functions of the network": question.network_k},
        "captured with": dict(plan.library_versions),
    }


def commands(
    runs: Sequence[Run], chosen: Sequence[Mapping[str, Any]], report_options: Sequence[str]
) -> list[str]:
    """Commands that make the page from the runs, one a line.

    Runs are named without their folders, so that the page is the same on every machine.
    """
    lines = []
    for run, picked in zip(runs, chosen, strict=True):
        captured = run.plan.settings.get("command")
        if isinstance(captured, str):
            lines.append(captured)
        question = question_before(run, picked)
        changed = question.changed_options
        known = all(name in _OPTION_FLAGS for name in changed)
        if known and question == Question.asked(changed):
            options = [word for name, value in changed.items() for word in (_OPTION_FLAGS[name], str(value))]
            lines.append(
                shlex.join(["haarbor", "organize", run_name(run), *_chosen_flags(run, picked), *options])
            )
        else:
            lines.append(
                f"haarbor.analysis.organize_run(haarbor.open_run({run_name(run)!r}), "
                f"content={picked['content']!r}, stream={picked['stream']!r}, options={changed!r}, "
                f"k={question.k}, network_k={question.network_k})"
            )
    names = [run_name(run) for run in runs]
    lines.append(shlex.join(["haarbor", "report", *names, *report_options]))
    return lines


def library_versions() -> dict[str, str]:
    """Versions of what makes the page."""
    found = {}
    for name in ("haarbor", "numpy", "plotly", "scipy", "zarr"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _chosen_flags(run: Run, chosen: Mapping[str, Any]) -> list[str]:
    flags = []
    if chosen["content"] != run.contents[0]:
        flags += ["--content", chosen["content"]]
    if chosen["stream"] != run.streams[0]:
        flags += ["--stream", chosen["stream"]]
    return flags


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_words(item)}" for name, item in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(map(_words, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
