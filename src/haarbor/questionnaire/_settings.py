"""Settings of a questionnaire."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from haarbor.errors import SettingError
from haarbor.options import require_choice, require_real_number, require_whole_number
from haarbor.stored_result import stored_result
from haarbor.trees import DEFAULT_RESTRAINT, require_restraint

__all__ = ["BUILDERS", "QuestionnaireSettings"]

# Trees settle or cycle within some dozens of iterations; more would only repeat them.
_MOST_ITERATIONS = 10_000
_USUAL_ITERATIONS = 3
# Passes of Haar trees end by themselves, after about three.
_USUAL_PASSES = 100

BUILDERS = ("flexible", "binary", "haar")


def _with_haar_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "start": "affinity", "restraint": DEFAULT_RESTRAINT, "tolerance": 1e-4}


def _as_exact(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "approximate": None}


@stored_result("QuestionnaireSettings", version=3, upgrades={1: _with_haar_fields, 2: _as_exact})
@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionnaireSettings:
    """Settings of one questionnaire, checked; its result holds them.

    See Also
    --------
    haarbor.organize : Trees of one tensor.
    """

    axes: tuple[str, ...]
    n_iterations: int
    """Largest number of iterations; made from None, which stands for the usual number of the builder."""
    initial: Literal["cosine", "gaussian"]
    alpha: Mapping[str, float]
    beta: Mapping[str, float]
    tree: Literal["flexible", "binary", "haar"]
    tree_constant: float
    cut: Literal["zero", "balanced"]
    refine: Literal["latest", "published"]
    restraint: float
    """Price of depth, for Haar trees."""
    tolerance: float
    """Relative fall of the objective below which Haar trees are settled."""
    start: Literal["order", "affinity", "given"]
    """First trees: of the order of the items, of the initial affinity, or given ones; made from "auto"."""
    engine: str
    precision: Literal["float32", "float64"]
    masked_entries: Literal["unmasked", "zero probabilities", "row mean of valid logits"]
    """How masked entries were treated."""
    approximate: int | None = None
    """Folders that were drawn at random for every matrix of distances; None where all were summed."""

    def __post_init__(self) -> None:
        require_choice("initial", self.initial, ("cosine", "gaussian"))
        require_choice("tree", self.tree, BUILDERS)
        require_choice("cut", self.cut, ("zero", "balanced"))
        require_choice("refine", self.refine, ("latest", "published"))
        haar = self.tree == "haar"
        start: object = self.start
        if start == "auto":
            start = "order" if haar else "affinity"
        require_choice("start", start, ("order", "given") if haar else ("order", "affinity", "given"))
        iterations: object = self.n_iterations
        if iterations is None:
            iterations = _USUAL_PASSES if haar else _USUAL_ITERATIONS
        # Plain numbers, so that the settings can be written as JSON.
        iterations = require_whole_number("n_iterations", iterations, 1, _MOST_ITERATIONS)
        constant = require_real_number("tree_constant", self.tree_constant, positive=True)
        object.__setattr__(self, "n_iterations", iterations)
        object.__setattr__(self, "tree_constant", constant)
        object.__setattr__(self, "restraint", require_restraint(self.restraint))
        object.__setattr__(
            self, "tolerance", require_real_number("tolerance", self.tolerance, least=0, most=1)
        )
        object.__setattr__(self, "start", start)
        if self.approximate is not None:
            drawn = require_whole_number("approximate", self.approximate, 2)
            object.__setattr__(self, "approximate", drawn)
            if haar:
                raise SettingError(
                    "approximate must go with trees that are built from distances, 'flexible' or 'binary'; "
                    "found tree='haar'. Leave one out."
                )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, fit for JSON."""
        return asdict(self)
