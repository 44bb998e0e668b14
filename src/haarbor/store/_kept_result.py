"""What became of a result that a run may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["KeptResult"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeptResult:
    """A result as it lies in a run: whole, or why it cannot be used."""

    state: Literal["whole", "absent", "outdated", "damaged"]
    """Outdated is one that was made from other batches than there are now."""
    value: Any = None
    """The result; None unless it is whole."""
    reason: str = ""
    """What is wrong with a damaged one, in a sentence."""
