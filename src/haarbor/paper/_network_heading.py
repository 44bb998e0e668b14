"""Heading over the part of a figure that shows one network."""

from __future__ import annotations

from haarbor.paper._paper_results import PaperResults

__all__ = ["network_heading"]

_MOST_LETTERS = 40


def network_heading(found: PaperResults, *, batch: bool = True, content: str | None = None) -> str:
    """Name of the network, shortened if it is long, with its content and, if `batch`, the shown batch."""
    name = found.name if len(found.name) <= _MOST_LETTERS else found.name[: _MOST_LETTERS - 1] + "…"
    stream = "" if found.stream == "self" else f", {found.stream}"
    shown = f", batch {found.batch}" if batch else ""
    return f"{name}{stream} ({content or found.content}{shown})"
