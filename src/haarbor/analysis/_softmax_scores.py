"""Scores of heads that compare their softmax with their logits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from haarbor.analysis._damaged_results import damaged_name
from haarbor.analysis._head_score import HeadScore, ScoreWords
from haarbor.array_types import FloatArray
from haarbor.errors import ResultWarning
from haarbor.store import RunPart

__all__ = ["mean_of_known", "measured", "regularity_scores", "softmax_scores"]

_SOFTMAX = "Softmax"
_SMOOTHNESS = "Smoothness"
_FIGURES: Mapping[str, ScoreWords] = {
    "invariance": ScoreWords(
        "softmax-invariance",
        "Softmax invariance",
        "How well the attention can be told from the raw scores before the softmax by one rule for the whole "
        "matrix.",
        "How much of the softmax the best affine function of the logits' paraproduct with all constants 1 "
        "explains.",
        "the softmax hardly changes what the head looks at",
        "the softmax makes the head what it is",
        group=_SOFTMAX,
    ),
    "exact": ScoreWords(
        "softmax-explained",
        "Softmax explained",
        "How well the attention can be told from the raw scores before the softmax by a rule that may differ "
        "from piece to piece of the matrix.",
        "How much of the softmax the corrected paraproduct with marginals explains; 1 is all, 0 no better "
        "than a uniform head.",
        "the paraproduct describes the softmax",
        "the softmax is too steep for the paraproduct",
        True,
        group=_SOFTMAX,
    ),
    "linear": ScoreWords(
        "softmax-linear",
        "Softmax explained by the logits",
        "How well the attention can be told from the raw scores before the softmax as they are.",
        "How much of the softmax the best affine function of the row-centred logits explains, without "
        "any tree.",
        "nearly linear",
        "far from linear",
        group=_SOFTMAX,
    ),
    "gap": ScoreWords(
        "softmax-gap",
        "What the constants carry",
        "How much is gained by a rule that may differ from piece to piece of the matrix.",
        "Softmax explained less softmax invariance.",
        "the constants of the paraproduct matter",
        "the constants could as well be 1",
        group=_SOFTMAX,
    ),
}
_DEVIATION = ScoreWords(
    "logit-deviation",
    "Spread of the logits",
    "How decided the head is: how far apart the raw scores before the softmax lie.",
    "Standard deviation of the valid logits about the means of their rows.",
    "a sharp head",
    "a nearly uniform head",
    group=_SOFTMAX,
)
_HOLDER = ScoreWords(
    "holder-exponent",
    "Hölder exponent",
    "How gradually the raw scores change between tokens that the head treats alike.",
    "Mixed Hölder exponent of the logits on the head's own trees.",
    "smooth on its trees",
    "rough; noise reads about minus one half",
    group=_SMOOTHNESS,
)
_HOLDER_GAIN = ScoreWords(
    "holder-gain",
    "Hölder exponent gained by organising",
    "How much smoother the head looks once its tokens are put in the order of its trees.",
    "The exponent on the head's own trees less that in the order of the input.",
    "organising makes the head smoother",
    "the order of the input was as good",
    group=_SMOOTHNESS,
)


def measured(part: RunPart, name: str, batch: int | None = None) -> Iterator[tuple[int, Any]]:
    """Yield every batch whose logits have a result called `name`, with that result.

    Damaged results are left out with a ResultWarning.

    Parameters
    ----------
    part : RunPart
        A part of any content; the results are those of the logits of its stream.
    name : str
    batch : int, optional
        The only batch to look at; all batches if not given.
    """
    if "logits" not in part.run.contents:
        return
    logits = part.run.part("logits", part.stream)
    for index in logits.batches if batch is None else (batch,):
        kept = logits.kept_result(name, batch=index)
        if kept.state == "damaged":
            warnings.warn(
                f"results kept in a run must be whole; {damaged_name(name, index)} is damaged and left out. "
                f"Make it again with haarbor invariance RUN --batch {index}.",
                ResultWarning,
                stacklevel=2,
            )
        elif kept.state == "whole":
            yield index, kept.value


def softmax_scores(part: RunPart, batch: int | None) -> list[HeadScore]:
    """Scores from results ``softmax-invariance``: of one batch, or means over the batches that have it."""
    each = [found for _, found in measured(part, "softmax-invariance", batch)]
    if not each:
        return []
    found = [
        words.score(mean_of_known([one.figures[name] for one in each])) for name, words in _FIGURES.items()
    ]
    return [*found, _DEVIATION.score(mean_of_known([one.logit_deviation for one in each]))]


def regularity_scores(part: RunPart, batch: int | None) -> list[HeadScore]:
    """Scores from results ``holder-exponents``: of one batch, or means over the batches that have it."""
    each = [found for _, found in measured(part, "holder-exponents", batch)]
    if not each:
        return []
    return [
        _HOLDER.score(mean_of_known([one.organised for one in each])),
        _HOLDER_GAIN.score(mean_of_known([one.gain for one in each])),
    ]


def mean_of_known(columns: list[FloatArray]) -> FloatArray:
    """Mean over the batches in which a head has a value; NaN where it has none in any."""
    table: FloatArray = np.stack([np.asarray(column, dtype=np.float64) for column in columns])
    known = np.isfinite(table)
    counts = known.sum(axis=0)
    sums = np.where(known, table, 0.0).sum(axis=0)
    means: FloatArray = np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return means
