"""The state of a result that was saved in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["KeptResult"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeptResult:
    """A result as it is found in a run: its value if it is whole, or why it cannot be used."""

    state: Literal["whole", "absent", "outdated", "damaged"]
    """Outdated means that it was made from other batches than there are now."""
    value: Any = None
    """The result; None unless it is whole."""
    reason: str = ""
    """What is wrong with a damaged result, in one sentence."""
