"""What a pruning study found, in the form in which a run keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from haarbor.array_types import BoolArray, FloatArray, IntArray
from haarbor.stored_result import stored_result

__all__ = ["PruningResults"]


@stored_result("PruningResults")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PruningResults:
    """Damage by several scores, which heads they remove, and which score to take.

    Everything that is shown of a study, without the network: it can be read where torch is not installed.
    """

    model: str
    data: str
    metric: str
    baseline: float
    """The metric of the whole network."""
    higher_is_better: bool
    within: str
    replacement: str
    """"refit", "mean" or "zero": what was done for the removed heads."""
    layers: IntArray
    """Layer of each head, shape (n_heads,)."""
    shares: FloatArray
    """Of the heads that went, shape (n_shares,)."""
    n_removed: IntArray
    """How many heads these are, shape (n_shares,)."""
    damages: Mapping[str, FloatArray]
    """How much worse the network is, by score, shape (n_shares,)."""
    errors: Mapping[str, FloatArray]
    """Standard errors of the damages; NaN where there is one batch."""
    removed: Mapping[str, BoolArray]
    """Heads that each score removes at the budget, shape (n_heads,); one of the draws for "random"."""
    place: int
    """Of the budget among the shares."""
    score: str
    """The recommended one."""
    equals: tuple[str, ...]
    """Scores that cannot be told from it."""
    agreement: Mapping[str, float]
    """Rank correlation of the scores from two halves of the calibration; NaN where it is not defined."""
    sentences: tuple[str, ...]
    """What to do, and how sure that is."""
    healing: Mapping[str, float] = field(default_factory=dict)
    """After some training of what is left, where that was asked for: "steps", "damage" and "error", beside
    "damage_before" and "error_before"; empty if not."""

    @property
    def n_heads(self) -> int:
        """Heads of the whole network."""
        return int(self.layers.size)

    def values(self, score: str) -> FloatArray:
        """The metric itself by a score, shape (n_shares,)."""
        sign = -1.0 if self.higher_is_better else 1.0
        found: FloatArray = self.baseline + sign * self.damages[score]
        return found

    def verdict(self) -> tuple[str, ...]:
        """What to do, and how sure that is, in sentences."""
        return self.sentences

    def __repr__(self) -> str:
        return (
            f"PruningResults({int(self.n_removed[self.place])} of {self.n_heads} heads by {self.score}, "
            f"{len(self.damages)} scores)"
        )
