"""How the Haar scores of heads go with their diagnostics, as rank correlations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from haarbor.analysis import ResultTable, asked_part, head_scores, rank_correlation
from haarbor.array_types import FloatArray, frozen
from haarbor.errors import DataError
from haarbor.store import Run, RunPart
from haarbor.stored_result import stored_result

__all__ = ["HAAR_SCORES", "ScoreRelations", "partial_rank_correlation", "score_relations"]

HAAR_SCORES = (
    "entropy",
    "entropy-normalised",
    "entropy-mean-removed",
    "energy-share",
    "entropy-all-scales",
    "fine-share",
    "distance-to-nearest",
)
"""Haar entropy, its variants, and the tree distance to the nearest head."""
_NOT_DIAGNOSTICS = ("batches-in-top", "batches-in-bottom")


@stored_result("ScoreRelations")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoreRelations:
    """Rank correlations over the heads of one network."""

    network: str
    haar: tuple[str, ...]
    diagnostics: tuple[str, ...]
    correlations: FloatArray
    """Spearman's, shape (n_haar, n_diagnostics); NaN where one of both is the same for all heads."""
    explained: Mapping[str, float]
    """Of each Haar score: share of the variance of its ranks that the ranks of attention entropy explain."""
    beyond: FloatArray
    """Partial rank correlations with the diagnostics, attention entropy held fixed, same shape."""
    n_heads: int

    def table(self) -> ResultTable:
        """One row per diagnostic, one column per Haar score."""
        return ResultTable(
            name="score_relations",
            title=f"Rank correlations of scores, {self.network}",
            columns=("diagnostic", *self.haar),
            rows=tuple(
                (name, *(float(value) for value in self.correlations[:, place]))
                for place, name in enumerate(self.diagnostics)
            ),
            caption=f"Spearman's rank correlation over {self.n_heads} heads, means over the batches.",
        )

    def __repr__(self) -> str:
        return f"ScoreRelations({self.network}, {len(self.haar)} x {len(self.diagnostics)})"


def partial_rank_correlation(one: FloatArray, two: FloatArray, held: FloatArray) -> float:
    r"""Rank correlation of two measurements once a third is held fixed.

    Parameters
    ----------
    one, two, held : ndarray, shape (n_heads,)
        NaN where a head has no value; it is left out.

    Returns
    -------
    float
        NaN where one of the measurements is the same for all heads, or follows from the third.

    See Also
    --------
    haarbor.analysis.rank_correlation : Spearman's correlation.
    haarbor.diagnostics.score_relations : Haar scores against diagnostics.

    Notes
    -----
    With :math:`\rho` the rank correlations of :func:`haarbor.analysis.rank_correlation`,

    .. math:: \frac{\rho_{12} - \rho_{13} \rho_{23}}{\sqrt{(1 - \rho_{13}^2)(1 - \rho_{23}^2)}}.

    Examples
    --------
    >>> partial_rank_correlation(np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 4, 3]), np.array([1.0, 4, 2, 3]))
    0.9047619047619047
    """
    there = np.isfinite(one) & np.isfinite(two) & np.isfinite(held)
    a, b, c = (values[there] for values in (one, two, held))
    ab, ac, bc = (rank_correlation(*pair) for pair in ((a, b), (a, c), (b, c)))
    rest = (1 - ac * ac) * (1 - bc * bc)
    return (ab - ac * bc) / float(np.sqrt(rest)) if rest > 1e-12 else float("nan")


def score_relations(
    run: Run | RunPart, *, content: str | None = None, stream: str | None = None
) -> ScoreRelations:
    """Rank correlations of the Haar scores of a run with all its head diagnostics.

    Parameters
    ----------
    run : Run or RunPart
        Organised, with head diagnostics.
    content : {"probabilities", "logits"}, optional
    stream : str, optional

    Returns
    -------
    ScoreRelations

    Raises
    ------
    DataError
        If the run holds no scores, or no diagnostics.

    See Also
    --------
    haarbor.run_diagnostics : Figures of every batch of a run.
    haarbor.plots.relations_figure : Draws the correlations.
    """
    part = asked_part(run, content, stream)
    scores = {score.name: np.asarray(score.values) for score in head_scores(part)}
    if "attention-entropy" not in scores:
        raise DataError(
            "the run must hold head diagnostics; it has none. Run haarbor organize, or call run_diagnostics."
        )
    haar = tuple(name for name in HAAR_SCORES if name in scores)
    others = tuple(name for name in scores if name not in (*HAAR_SCORES, *_NOT_DIAGNOSTICS))
    held = scores["attention-entropy"]
    found = np.array([[rank_correlation(scores[one], scores[two]) for two in others] for one in haar])
    beyond = np.array(
        [[partial_rank_correlation(scores[one], scores[two], held) for two in others] for one in haar]
    )
    return ScoreRelations(
        network=part.run.model,
        haar=haar,
        diagnostics=others,
        correlations=frozen(found),
        explained={name: rank_correlation(scores[name], held) ** 2 for name in haar},
        beyond=frozen(beyond),
        n_heads=int(held.size),
    )
