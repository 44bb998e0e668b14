"""What a questionnaire was asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

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
        iterations, constant = self.n_iterations, self.tree_constant
        if isinstance(iterations, bool) or not isinstance(iterations, int | np.integer):
            raise SettingError(f"n_iterations must be a whole number; found {iterations!r}.")
        if iterations < 1:
            raise SettingError(f"n_iterations must be at least 1; found {iterations}.")
        if isinstance(constant, bool) or not isinstance(constant, int | float | np.number):
            raise SettingError(f"tree_constant must be a number; found {constant!r}.")
        if not 0 < constant < float("inf"):
            raise SettingError(f"tree_constant must be positive and finite; found {constant}.")
        # Plain numbers, so that the settings can be written as JSON.
        object.__setattr__(self, "n_iterations", int(iterations))
        object.__setattr__(self, "tree_constant", float(constant))

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, fit for JSON."""
        return asdict(self)


def _require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise SettingError(f"{name} must be one of {', '.join(map(repr, choices))}; found {value!r}.")
