"""Scores of heads by which they are removed, lowest first; users add their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import BoolArray, FloatArray, frozen
from haarbor.errors import DataError, HaarborError, SettingError
from haarbor.printable import printable
from haarbor.pruning._backward_elimination import backward_elimination
from haarbor.pruning._budgets import Budget, removal_of_count
from haarbor.pruning._calibration_pass import CalibrationPass, Part, require_parts
from haarbor.pruning._fisher_mask import fisher_mask
from haarbor.pruning._flap import flap_scores
from haarbor.pruning._layer_drop import layer_drop_ranks
from haarbor.pruning._layer_quotas import layer_quota_ranks
from haarbor.pruning._osscar import osscar_ranks, osscar_removal
from haarbor.pruning._output_norms import output_norms, relative_output_norms
from haarbor.pruning._redundancy import folder_ranks, redundancy_ranks
from haarbor.pruning._slimgpt import slimgpt_ranks
from haarbor.pruning._wanda import wanda_scores

__all__ = [
    "SCORES",
    "Score",
    "checked_names",
    "needed_parts",
    "pruning_scores",
    "register_score",
    "score_removal",
    "scores_named",
]

_TAKEN = ("all", "random")
"""Names that stand for something else where scores are asked for."""

ScoreFunction = Callable[[CalibrationPass], npt.ArrayLike]
"""Gives one number per head; the lowest goes first."""
Choice = Callable[[CalibrationPass, int], npt.ArrayLike]
"""Gives True or False per head: those to remove, for a number of them."""


@dataclass(frozen=True, slots=True)
class Score:
    """A way to say which heads can go."""

    name: str
    meaning: str
    """What goes first, in a line."""
    function: ScoreFunction
    needs: frozenset[Part] = frozenset()
    """What the calibration pass must gather beyond the moments."""
    control: bool = False
    """Whether it only serves for comparison and is never recommended."""
    choice: Choice | None = None
    """Which heads go for a given number, where these are not just those of lowest score: heads that were
    exchanged for others, say."""

    @property
    def gradient_free(self) -> bool:
        """Whether forward passes are enough."""
        return not any(part.endswith("gradients") for part in self.needs)


SCORES: dict[str, Score] = {}
"""All scores by name."""


def register_score(
    name: str,
    function: ScoreFunction,
    *,
    meaning: str = "",
    needs: Iterable[Part] = (),
    control: bool = False,
    choice: Choice | None = None,
) -> Score:
    """Add a score; it can be asked for by its name from then on.

    Parameters
    ----------
    name : str
    function : function of CalibrationPass
        Gives one number per head; the lowest goes first.
    meaning : str
        What goes first, in a line.
    needs : iterable of {"attention", "gradients", "responses", "layer responses", \
            "leftover gradients", "drawn gradients"}
        What of the pass it reads beyond the moments.
    control : bool, default False
        Whether it only serves for comparison and is never recommended.
    choice : function of CalibrationPass and a number of heads, optional
        Gives the heads to remove, True or False per head, where these are not just those of lowest score.
        It is asked where heads are chosen over the whole network; else the numbers of `function` decide.

    Returns
    -------
    Score

    Raises
    ------
    SettingError
        If there is a score of this name, it cannot be a name, or what is needed is not offered.

    See Also
    --------
    haarbor.pruning.pruning_scores : Scores of all heads.

    Examples
    --------
    >>> score = register_score("late-first", lambda calibration: -calibration.heads.layer_of_head)
    >>> SCORES.pop("late-first").name
    'late-first'
    """
    if not isinstance(name, str) or not name.strip() or "," in name or name in _TAKEN:
        raise SettingError(
            f"a score must have a name without commas that is none of {', '.join(_TAKEN)}; found "
            f"{printable(repr(name))[:80]}. Choose another."
        )
    if name in SCORES:
        raise SettingError(f"there is a score {name!r} already. Choose another name.")
    functions: tuple[Any, ...] = (function,) if choice is None else (function, choice)
    for given in functions:
        if not callable(given):
            raise SettingError(
                f"a score must be a function of the calibration pass; found {printable(repr(given))[:80]}. "
                "Pass one that gives a number per head."
            )
    gathered: Any = frozenset(needs) if isinstance(needs, Iterable) and not isinstance(needs, str) else needs
    require_parts(gathered)
    SCORES[name] = Score(name, meaning, function, gathered, control, choice)
    return SCORES[name]


def checked_names(names: Any) -> list[str]:
    """Names of scores as a list, each once.

    Raises
    ------
    SettingError
        If they are not some texts.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise SettingError(
            f"scores must be a list of names; found {printable(repr(names))[:80]}. Write ['leftover', "
            "'random']."
        )
    found = list(names)
    for name in found:
        if not isinstance(name, str):
            raise SettingError(
                f"a score must be named by a text; found {printable(repr(name))[:80]}. Pass its name."
            )
    return list(dict.fromkeys(found))


def scores_named(names: Iterable[str]) -> tuple[Score, ...]:
    """Scores of these names.

    Raises
    ------
    SettingError
        If there is none of a name.
    """
    found = []
    for name in checked_names(names):
        if name not in SCORES:
            raise SettingError(
                f"a score must be one of {', '.join(sorted(SCORES))}; found {printable(repr(name))}."
                " Name one of these, or register your own with register_score."
            )
        found.append(SCORES[name])
    return tuple(found)


def needed_parts(scores: Iterable[Score]) -> frozenset[Part]:
    """What a calibration pass must gather for these scores."""
    return frozenset[Part]().union(*(score.needs for score in scores))


def pruning_scores(calibration: CalibrationPass, names: Collection[str]) -> dict[str, FloatArray]:
    """Scores of all heads.

    Parameters
    ----------
    calibration : CalibrationPass
    names : collection of str

    Returns
    -------
    dict of name to ndarray, shape (n_heads,)

    Raises
    ------
    SettingError
        If there is no score of a name.
    PruningError
        If the pass did not gather what a score needs.
    DataError
        If a score does not give one number per head.

    See Also
    --------
    haarbor.pruning.register_score : Add a score of your own.
    haarbor.pruning.removal : Which heads to remove.
    haarbor.pruning.damage_curves : Damage by share of heads.
    """
    values = {}
    n_heads = calibration.heads.n_heads
    for score in scores_named(names):
        try:
            array: FloatArray = np.array(score.function(calibration), dtype=np.float64)
        except (TypeError, ValueError) as error:
            if isinstance(error, HaarborError):
                raise
            raise DataError(
                f"the score {score.name!r} must give one finite number per head, {n_heads}; it "
                f"stopped with {type(error).__name__}: {printable(str(error))[:120].rstrip('.')}. Mend its "
                "function."
            ) from error
        if array.shape != (n_heads,) or not np.isfinite(array).all():
            raise DataError(
                f"the score {score.name!r} must give one finite number per head, {n_heads}; found shape "
                f"{array.shape}, {int(np.isfinite(array).sum())} finite."
                " Mend its function."
            )
        values[score.name] = frozen(array)
    return values


def score_removal(
    name: str,
    values: FloatArray,
    calibration: CalibrationPass,
    n_removed: int,
    *,
    within: Budget = "network",
) -> BoolArray:
    """Heads that a score removes.

    Parameters
    ----------
    name : str
        Of a score, or "random".
    values : ndarray, shape (n_heads,)
        What the score gave; lowest goes first unless it has a choice of its own.
    calibration : CalibrationPass
    n_removed : int
    within : {"network", "layer", "uniform"}, default "network"

    Returns
    -------
    ndarray of bool, shape (n_heads,)

    Raises
    ------
    SettingError
        If the structure of the network does not allow this number.
    DataError
        If the choice of the score is not that number of heads, or takes all heads of a layer.
    """
    lowest = removal_of_count(values, calibration.heads, n_removed, within=within)
    score = SCORES.get(name)
    if score is None or score.choice is None or within != "network":
        return lowest
    chosen: BoolArray = np.asarray(score.choice(calibration, n_removed))
    if chosen.dtype != np.bool_ or chosen.shape != lowest.shape or int(chosen.sum()) != n_removed:
        raise DataError(
            f"the choice of the score {name!r} must be True at {n_removed} of {lowest.size} heads; found "
            f"{chosen.dtype} of shape {chosen.shape}. Mend its function."
        )
    for number, gone in enumerate(calibration.heads.by_layer(chosen)):
        if gone.size == calibration.heads.layers[number].n_heads:
            raise DataError(
                f"every layer must keep a head; the choice of the score {name!r} leaves none in layer "
                f"{number}. Mend its function."
            )
    return frozen(chosen.copy())


def _relative_norms(calibration: CalibrationPass, *, per_token: bool = True) -> FloatArray:
    return relative_output_norms(calibration.moments, calibration.heads, per_token=per_token)


def _elimination_ranks(calibration: CalibrationPass, **given: Any) -> FloatArray:
    return backward_elimination(calibration.moments, calibration.heads, **given).ranks


def _add(
    name: str, meaning: str, function: ScoreFunction, *needs: Part, choice: Choice | None = None
) -> None:
    control = meaning.startswith("control")
    register_score(name, function, meaning=meaning, needs=needs, control=control, choice=choice)


_add("leftover", "heads whose output the rest of their layer can give instead, without a backward pass",
     lambda calibration: _elimination_ranks(calibration))  # fmt: skip
_add("leftover-share", "the same, counted as a share of what the attention of its layer gives",
     lambda calibration: _elimination_ranks(calibration, shares=True))  # fmt: skip
_add("leftover-layer", "the same, counted by how the answers change when each layer loses half its heads",
     lambda calibration: _elimination_ranks(
         calibration, layer_responses=calibration.layer_responses.values), "layer responses")  # fmt: skip
_add("leftover-answers", "the same, counted by how the answers change without each head, and half of a layer",
     lambda calibration: _elimination_ranks(
         calibration, responses=calibration.responses.values,
         layer_responses=calibration.layer_responses.values), "responses", "layer responses")  # fmt: skip
_add("leftover-response", "the same, counted by how the network's answers change without each head",
     lambda calibration: _elimination_ranks(calibration, responses=calibration.responses.values),
     "responses")  # fmt: skip
_add("leftover-gradient", "the same, counted by what the derivative of the loss says that the answers lose",
     lambda calibration: _elimination_ranks(
         calibration, responses=calibration.leftover_gradients.head_prices,
         layer_responses=calibration.leftover_gradients.layer_prices), "leftover gradients")  # fmt: skip
_add("leftover-fisher", "the same, with labels that are drawn from the network's own answers",
     lambda calibration: _elimination_ranks(
         calibration, responses=calibration.drawn_gradients.head_prices,
         layer_responses=calibration.drawn_gradients.layer_prices), "drawn gradients")  # fmt: skip
_add("leftover-taylor", "the same, and by how much the loss rises to first order beyond chance",
     lambda calibration: _elimination_ranks(
         calibration, responses=calibration.drawn_gradients.head_prices / 2,
         layer_responses=calibration.drawn_gradients.layer_prices / 2,
         rises=calibration.leftover_gradients.head_rises),
     "leftover gradients", "drawn gradients")  # fmt: skip
_add("response", "heads without which the network's answers change little, their layer refitted",
     lambda calibration: calibration.responses.values, "responses")  # fmt: skip
_add(
    "relative-norm", "heads that write little, relative to the residual stream at each token", _relative_norms
)
_add("relative-norm-mean", "the same, mean output relative to the mean residual stream",
     lambda calibration: _relative_norms(calibration, per_token=False))  # fmt: skip
_add(
    "norm",
    "heads that write little",
    lambda calibration: output_norms(calibration.moments, calibration.heads),
)
_add("gradient", "heads with small |d loss / d gate| (Michel et al.)",
     lambda calibration: np.abs(calibration.gradients).mean(axis=0), "gradients")  # fmt: skip
_add("taylor", "heads whose removal lowers the loss to first order",
     lambda calibration: -calibration.gradients.mean(axis=0), "gradients")  # fmt: skip
_add("fisher", "heads with small mean squared d loss / d gate",
     lambda calibration: np.square(calibration.gradients).mean(axis=0), "gradients")  # fmt: skip
_add("h400", "heads of low Haar entropy, as the paper suggests",
     lambda calibration: calibration.attention.entropy, "attention")  # fmt: skip
_add(
    "h400-high", "heads of high Haar entropy", lambda calibration: -calibration.attention.entropy, "attention"
)
_add("h400-normalised", "heads of low Haar entropy for their norm",
     lambda calibration: calibration.attention.normalised_entropy, "attention")  # fmt: skip
_add("h400-mean-removed", "heads of low Haar entropy beyond their mean",
     lambda calibration: calibration.attention.mean_removed_entropy, "attention")  # fmt: skip
_add("l1-all-scales", "heads of low l1 Haar norm over all scales",
     lambda calibration: calibration.attention.all_scales, "attention")  # fmt: skip
_add("l1-fine-scales", "heads of low l1 Haar norm outside the coarsest functions",
     lambda calibration: calibration.attention.fine_scales, "attention")  # fmt: skip
_add("h400-random-tree", "control: Haar entropy on random trees",
     lambda calibration: calibration.attention.random_tree_entropy, "attention")  # fmt: skip
_add("h400-no-tree", "control: Haar entropy on tokens in their own order",
     lambda calibration: calibration.attention.no_tree_entropy, "attention")  # fmt: skip
_add(
    "attention-entropy",
    "heads that attend sharply",
    lambda calibration: calibration.attention.attention_entropy,
    "attention",
)
_add("attention-entropy-high", "heads that attend diffusely",
     lambda calibration: -calibration.attention.attention_entropy, "attention")  # fmt: skip
_add("output-haar", "heads whose output is small in l1 on the query tree",
     lambda calibration: calibration.attention.output_haar_norm, "attention")  # fmt: skip
_add("redundancy", "heads close to one that stays, times what they write relative to the residual stream",
     lambda calibration: redundancy_ranks(calibration.attention.distances, _relative_norms(calibration)),
     "attention")  # fmt: skip
_add("folders", "heads that are not the largest of their folder of the head tree",
     lambda calibration: folder_ranks(calibration.attention.distances, _relative_norms(calibration)),
     "attention")  # fmt: skip
_add("flap", "heads whose channels fluctuate little around their mean (FLAP, An et al.)",
     lambda calibration: flap_scores(calibration.moments, calibration.heads))  # fmt: skip
_add("wanda-sp", "heads of small weights on small inputs, the same share of every layer (Wanda-sp)",
     lambda calibration: layer_quota_ranks(
         wanda_scores(calibration.moments, calibration.heads), calibration.heads))  # fmt: skip
_add("osscar", "the output of each layer kept by least squares, with exchanges, a quota per layer (OSSCAR)",
     lambda calibration: osscar_ranks(calibration.moments, calibration.heads),
     choice=lambda calibration, n_removed: osscar_removal(
         calibration.moments, calibration.heads, n_removed))  # fmt: skip
_add("slimgpt", "the same with a diagonal in place of blocks, no exchanges, a quota per layer (SlimGPT)",
     lambda calibration: slimgpt_ranks(calibration.moments, calibration.heads))  # fmt: skip
_add("fisher-mask", "heads of small Fisher information, exchanged within layers (Kwon et al.)",
     lambda calibration: np.square(calibration.gradients).mean(axis=0), "gradients",
     choice=lambda calibration, n_removed: fisher_mask(
         calibration.gradients, calibration.heads, n_removed))  # fmt: skip
_add("layer-drop", "whole layers of attention that hardly turn the residual stream (LLM-Drop)",
     lambda calibration: layer_drop_ranks(calibration.moments, calibration.heads))  # fmt: skip
