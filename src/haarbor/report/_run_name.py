"""What a run is called in a page."""

from __future__ import annotations

import re

from haarbor.store import Run

__all__ = ["run_name"]


def run_name(run: Run) -> str:
    """Last part of the location of a run, without the folders above it."""
    parts = [part for part in re.split(r"[/\\]", run.location) if part]
    return parts[-1] if parts else "run"
