"""Options with few values, checked the way the command line reports wrong usage."""

from __future__ import annotations

from typing import Any

import typer

__all__ = ["checked_choice"]


def checked_choice(option: str, value: str, choices: tuple[str, ...]) -> Any:
    """`value` if it is one of `choices`; wrong usage, exit code 2, if not."""
    if value not in choices:
        raise typer.BadParameter(f"must be {' or '.join(choices)}; found {value!r}.", param_hint=option)
    return value
