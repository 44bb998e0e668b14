"""Check of an option that takes one of a few values."""

from __future__ import annotations

from typing import Any

import typer

__all__ = ["checked_choice"]


def checked_choice(option: str, value: str, choices: tuple[str, ...]) -> Any:
    """Return `value` if it is one of `choices`; otherwise report wrong usage (exit code 2)."""
    if value not in choices:
        raise typer.BadParameter(f"must be {' or '.join(choices)}; found {value!r}.", param_hint=option)
    return value
