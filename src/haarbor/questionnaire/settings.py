"""What a questionnaire was asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from haarbor.errors import SettingError

__all__ = ["QuestionnaireSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionnaireSettings:
    """Settings of one questionnaire, checked; they travel with its result."""

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
    """What entries under a closed mask were taken to be."""

    def __post_init__(self) -> None:
        _require_choice("initial", self.initial, ("cosine", "gaussian"))
        _require_choice("tree", self.tree, ("flexible", "binary"))
        _require_choice("cut", self.cut, ("zero", "balanced"))
        _require_choice("refine", self.refine, ("latest", "published"))
        if isinstance(self.n_iterations, bool) or not isinstance(self.n_iterations, int):
            raise SettingError(f"n_iterations must be a whole number; found {self.n_iterations!r}.")
        if self.n_iterations < 1:
            raise SettingError(f"n_iterations must be at least 1; found {self.n_iterations}.")
        if not self.tree_constant > 0 or self.tree_constant == float("inf"):
            raise SettingError(f"tree_constant must be positive and finite; found {self.tree_constant}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, fit for JSON."""
        return asdict(self)


def _require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingError(f"{name} must be one of {', '.join(map(repr, choices))}; found {value!r}.")
