"""How many heads a run has, and in which streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haarbor.store import RunPlan

__all__ = ["heads_text", "other_streams_text"]


def heads_text(plan: RunPlan) -> str:
    """Layers and heads in words; where there are several streams, all heads and then those of each.

    Parameters
    ----------
    plan : RunPlan

    Returns
    -------
    str
    """
    each = [f"{stream.n_layers} layers x {stream.n_heads} heads" for stream in plan.streams]
    if len(plan.streams) == 1:
        return each[0]
    total = sum(stream.n_layers * stream.n_heads for stream in plan.streams)
    named = ", ".join(f"{stream.name} {text}" for stream, text in zip(plan.streams, each, strict=True))
    return f"{total} heads in {len(plan.streams)} streams ({named})"


def other_streams_text(plan: RunPlan, chosen: str) -> str | None:
    """What of a run a command did not look at, and how to ask for it; None where it looked at all.

    Parameters
    ----------
    plan : RunPlan
    chosen : str
        Name of the stream that it looked at.

    Returns
    -------
    str or None
    """
    others = [stream for stream in plan.streams if stream.name != chosen]
    if not others:
        return None
    named = [f"{stream.name} ({stream.n_layers * stream.n_heads} heads)" for stream in others]
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return f"This is stream {chosen}; the run has {listed}, too: add --stream {others[0].name}."
