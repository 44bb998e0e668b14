"""How long work tells its caller how far it has come."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["OnProgress"]

OnProgress = Callable[[str, int, int | None], None]
"""Function of (step, done, total): what is done, how much of it is over, and of how much; None if unknown."""
