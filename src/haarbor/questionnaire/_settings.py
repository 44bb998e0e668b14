"""Settings of a questionnaire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from haarbor.options import require_choice, require_real_number, require_whole_number
from haarbor.stored_result import stored_result

__all__ = ["QuestionnaireSettings"]

# Trees settle or cycle within some dozens of iterations; more would only repeat them.
_MOST_ITERATIONS = 10_000


@stored_result("QuestionnaireSettings")
@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionnaireSettings:
    """Settings of one questionnaire, checked; its result holds them."""

    axes: tuple[str, ...]
    n_iterations: int
    initial: Literal["cosine", "gaussian"]
    alpha: Mapping[str, float]
    beta: Mapping[str, float]
    tree: Literal["flexible", "binary"]
    tree_constant: float
    cut: Literal["zero", "balanced"]
    refine: Literal["latest", "published"]
    engine: str
    precision: Literal["float32", "float64"]
    masked_entries: Literal["unmasked", "zero probabilities", "row mean of valid logits"]
    """How masked entries were treated."""

    def __post_init__(self) -> None:
        require_choice("initial", self.initial, ("cosine", "gaussian"))
        require_choice("tree", self.tree, ("flexible", "binary"))
        require_choice("cut", self.cut, ("zero", "balanced"))
        require_choice("refine", self.refine, ("latest", "published"))
        # Plain numbers, so that the settings can be written as JSON.
        iterations = require_whole_number("n_iterations", self.n_iterations, 1, _MOST_ITERATIONS)
        constant = require_real_number("tree_constant", self.tree_constant, positive=True)
        object.__setattr__(self, "n_iterations", iterations)
        object.__setattr__(self, "tree_constant", constant)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, fit for JSON."""
        return asdict(self)
