"""Whether a run holds what a page needs, and how it was organised before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from haarbor.analysis.gather_results import ORGANIZE_OPTIONS
from haarbor.errors import SettingError
from haarbor.store import Run

__all__ = ["chosen_parts", "is_organised", "missing_result", "options_before"]

_OF_EACH_BATCH = ("organization", "head-entropy", "network-entropy", "asked")
_OF_ALL_BATCHES = ("ranking-stability", "consensus")


def chosen_parts(run: Run, content: str | None = None, stream: str | None = None) -> dict[str, Any]:
    """Content and stream to show: probabilities if the run holds them, and the first stream.

    Raises
    ------
    SettingError
        If the run does not hold what was asked for.
    """
    usual = "probabilities" if "probabilities" in run.contents else run.contents[0]
    picked = {"content": content or usual, "stream": stream or run.streams[0]}
    if picked["content"] not in run.contents:
        raise SettingError(
            f"content must be one that the run holds, {' or '.join(run.contents)}; found {content!r}."
        )
    if picked["stream"] not in run.streams:
        raise SettingError(f"stream must be one of {', '.join(run.streams)}; found {stream!r}.")
    return picked


def missing_result(run: Run, chosen: Mapping[str, Any]) -> str | None:
    """Name of a result that a page needs and the run has not; None if it has all."""
    for name in _OF_EACH_BATCH:
        if not all(run.has_result(name, batch=batch, **chosen) for batch in run.batches):
            return name
    return next((name for name in _OF_ALL_BATCHES if not run.has_result(name, **chosen)), None)


def is_organised(run: Run, chosen: Mapping[str, Any]) -> bool:
    """Whether every batch is organised and scored, and all of them together."""
    return missing_result(run, chosen) is None


def options_before(run: Run, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options that the run was organised with, or the usual ones if it was not."""
    for batch in run.batches:
        if run.has_result("asked", batch=batch, **chosen):
            options: Mapping[str, Any] = run.load_result("asked", batch=batch, **chosen)["options"]
            return options
    return ORGANIZE_OPTIONS
