"""Every number a run holds for each of its heads, with what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from haarbor.analysis._asked_part import asked_part
from haarbor.analysis._damaged_results import readable_result
from haarbor.analysis._diagnostic_scores import diagnostic_scores
from haarbor.analysis._head_score import HeadScore, ScoreWords
from haarbor.analysis._softmax_scores import regularity_scores, softmax_scores
from haarbor.array_types import FloatArray
from haarbor.errors import DataError, SettingError
from haarbor.options import found_text, is_whole_number
from haarbor.store import Run, RunPart

__all__ = ["head_scores"]


def head_scores(
    run: Run | RunPart, *, batch: int | None = None, content: str | None = None, stream: str | None = None
) -> tuple[HeadScore, ...]:
    """Scores of the heads that a run holds.

    Parameters
    ----------
    run : Run or RunPart
        Organised; see :func:`haarbor.analysis.organize_run`.
    batch : int, optional
        Batch whose scores are returned; if not given, means over all batches, and the scores that
        need all batches together.
    content : {"probabilities", "logits"}, optional
    stream : str, optional
        :meth:`haarbor.store.Run.part` says which content and stream are the default.

    Returns
    -------
    tuple of HeadScore
        Those whose results are in the run, in a fixed order.

    Raises
    ------
    DataError
        If there are none.
    StoreError
        If a result of :func:`haarbor.analysis.organize_run` is damaged.

    Warns
    -----
    ResultWarning
        If a result of ``haarbor invariance`` is damaged; it is left out.

    See Also
    --------
    haarbor.organize_run : Organise and score every batch of a run.
    haarbor.diagnostics.heads_table : Scores and types in a table.
    """
    part = asked_part(run, content, stream)
    # Whether the batch is there is not checked here: that lists all batches, once for each batch scored.
    if batch is not None and not is_whole_number(batch):
        raise SettingError(
            f"batch must be a whole number; found {found_text(batch)}. Choose one of run.batches."
        )
    found: list[HeadScore] = []
    for source in _SOURCES:
        found += source(part, batch)
    if not found:
        which = "the run" if batch is None else f"batch {batch}"
        raise DataError(f"{which} must hold scores of its heads; it has none. Run haarbor organize first.")
    return tuple(found)


_COARSE = "Broad pattern and detail"
_AMONG = "Among the heads"
_ENTROPIES: Mapping[str, ScoreWords] = {
    "raw": ScoreWords(
        "entropy",
        "Haar entropy",
        "How much broad pattern the head has, and how strong: the sizes of its large, smooth pieces, added "
        "up.",
        "Sum of the absolute coefficients of the coarsest Haar functions on the trees of queries and keys.",
        "much coarse structure",
        "little coarse structure",
        group=_COARSE,
        compares=False,
    ),
    "normalised": ScoreWords(
        "entropy-normalised",
        "Haar entropy, normalised",
        "How many broad pieces the head is made of, however strong they are.",
        "The Haar entropy divided by the size of the matrix: it does not change when the head is scaled.",
        "coarse structure spread over many functions",
        "coarse structure in few functions",
        group=_COARSE,
    ),
    "mean_removed": ScoreWords(
        "entropy-mean-removed",
        "Haar entropy without the mean",
        "How many broad pieces the head is made of, once its even background is taken away.",
        "The normalised Haar entropy of what is left of the matrix when its mean is taken away.",
        "coarse structure beyond the mean",
        "hardly any coarse structure beyond the mean",
        group=_COARSE,
    ),
    "energy_share": ScoreWords(
        "energy-share",
        "Energy in coarse functions",
        "How much of the head can be seen in a blurred copy of its matrix.",
        "Share of the sum of squares of the matrix that the coarsest Haar functions hold.",
        "the trees describe the head with few functions",
        "most of the head is fine detail",
        group=_COARSE,
    ),
    "all_scales": ScoreWords(
        "entropy-all-scales",
        "Haar entropy of all scales",
        "How much pattern the head has in all, broad and fine together.",
        "Sum of the absolute coefficients of all Haar functions, coarse and fine.",
        "a large and intricate matrix",
        "a small or simple matrix",
        group=_COARSE,
        compares=False,
    ),
    "fine_share": ScoreWords(
        "fine-share",
        "Share of fine scales",
        "How much of its pattern is fine detail, which a blurred copy would lose.",
        "Share of the sum over all scales that lies outside the coarsest functions.",
        "mostly fine detail",
        "mostly coarse structure",
        group=_COARSE,
    ),
}
_TOP = ScoreWords(
    "batches-in-top",
    "Batches in the top 10 %",
    "On how many inputs the head is one of those with the most broad pattern.",
    "In how many batches the head is among the tenth of heads with the highest Haar entropy.",
    "among the highest in every batch",
    "never among the highest",
    group=_AMONG,
    compares=False,
)
_BOTTOM = ScoreWords(
    "batches-in-bottom",
    "Batches in the bottom 10 %",
    "On how many inputs the head is one of those with the least broad pattern.",
    "In how many batches the head is among the tenth of heads with the lowest Haar entropy.",
    "among the lowest in every batch",
    "never among the lowest",
    group=_AMONG,
    compares=False,
)
_ISOLATION = ScoreWords(
    "distance-to-nearest",
    "Distance to the nearest head",
    "How differently the head attends from the one that is most like it.",
    "Tree distance to the head that attends most alike, mean over batches.",
    "unlike every other head",
    "another head does nearly the same",
    group=_AMONG,
    compares=False,
)


def _entropies(part: RunPart, batch: int | None) -> list[HeadScore]:
    batches = part.batches if batch is None else (batch,)
    each = [readable_result(part, "head-entropy", batch=index) for index in batches]
    if not each or any(entropy is None for entropy in each):
        return []
    return [
        words.score(np.mean([getattr(entropy, name) for entropy in each], axis=0))
        for name, words in _ENTROPIES.items()
    ]


def _stability(part: RunPart, batch: int | None) -> list[HeadScore]:
    if batch is not None:
        return []
    stability = readable_result(part, "ranking-stability")
    if stability is None or stability.n_batches < 2:
        return []
    return [_TOP.score(stability.top_counts), _BOTTOM.score(stability.bottom_counts)]


def _isolation(part: RunPart, batch: int | None) -> list[HeadScore]:
    if batch is not None:
        return []
    consensus = readable_result(part, "consensus")
    if consensus is None:
        return []
    distances: FloatArray = np.array(consensus.distances, dtype=np.float64) / consensus.n_batches
    if distances.shape[0] < 2:
        return []
    np.fill_diagonal(distances, np.inf)
    return [_ISOLATION.score(distances.min(axis=1))]


_Source = Callable[[RunPart, int | None], list[HeadScore]]
# One function for each kind of result that has numbers for heads, in the order they are shown.
_SOURCES: tuple[_Source, ...] = (
    _entropies,
    _isolation,
    _stability,
    diagnostic_scores,
    softmax_scores,
    regularity_scores,
)
