"""Trees of several builders in one run, compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.analysis._asked_part import asked_part
from haarbor.analysis._builder_results import builder_results
from haarbor.analysis._held_out_coherence import held_out_coherence
from haarbor.analysis._question import Question
from haarbor.analysis._result_table import Cell, ResultTable
from haarbor.analysis._valid_tokens import valid_tokens
from haarbor.errors import DataError
from haarbor.on_progress import OnProgress
from haarbor.options import require_flag, require_function
from haarbor.store import Run, RunPart
from haarbor.trees import halved_tree
from haarbor.wavelets import haar_l1

__all__ = ["compare_builders"]


def compare_builders(
    run: Run | RunPart,
    *,
    content: str | None = None,
    stream: str | None = None,
    held_out: bool = True,
    on_progress: OnProgress | None = None,
) -> ResultTable:
    """Table of all builders a run was organised with, one row each.

    Parameters
    ----------
    run : Run or RunPart
        Organised by :func:`haarbor.organize_run`, once for each builder.
    content, stream : str, optional
    held_out : bool, default True
        Also measure held-out coherence, which organises the batches again.
    on_progress : function of (step, done, total), optional

    Returns
    -------
    ResultTable
        Means over the batches that were organised by all builders.

    Raises
    ------
    DataError
        If no batch was organised.

    See Also
    --------
    haarbor.organize_run : Organise and score every batch of a run.
    haarbor.analysis.held_out_coherence : Trees measured on data they were not built from.
    """
    part = asked_part(run, content, stream)
    require_flag("held_out", held_out)
    require_function("on_progress", on_progress)
    kept = {batch: builder_results(part, batch) for batch in part.batches}
    builders = list(dict.fromkeys(builder for results in kept.values() for builder in results))
    batches = [batch for batch, results in kept.items() if all(builder in results for builder in builders)]
    if not batches or not builders:
        raise DataError(
            "builders can be compared where a batch was organised by all of them; found none. "
            "Organise the run with haarbor.organize_run first."
        )
    coherence: dict[str, list[float]] = {builder: [] for builder in builders}
    for done, batch in enumerate(batches):
        X = valid_tokens(part.tensor(batch), part.mask(batch)).filled(part.content)
        axes = ("query", "key", "head")
        plain = haar_l1(X, {axis: halved_tree(n) for axis, n in zip(axes, X.shape, strict=True)}, axes)
        for builder in builders:
            norm = haar_l1(X, kept[batch][builder][1]["organization"].trees, axes)
            coherence[builder].append(plain / norm if norm else 1.0)
        if on_progress is not None:
            on_progress("comparing", done + 1, len(batches))
    rows = []
    for builder in builders:
        question = kept[batches[0]][builder][0]
        results = [kept[batch][builder][1] for batch in batches]
        row = _row(builder, results, coherence[builder])
        rows.append(row + _held_out(part, question, on_progress) if held_out else row)
    columns = ["builder", "batches", "coherence in sample", "query depth", "key depth", "head depth",
               "network entropy"]  # fmt: skip
    if held_out:
        columns += ["held-out heads", "error", "next batch", "error of that"]
    return ResultTable(
        name="builders",
        title="Trees of different builders",
        columns=tuple(columns),
        rows=tuple(rows),
        caption="Coherence is the l1 norm of the Haar expansion on order trees, which halve the original "
        "order, over that on the trees: above 1 is better than the original order. Depth is 1 for a "
        "balanced tree. The network entropy is the normalised one."
        + (
            " Held-out: trees of queries and keys from half of the heads on the other half, and the head "
            "tree of a batch on the next, with standard errors."
            if held_out
            else ""
        ),
    )


def _row(builder: str, results: list[dict[str, Any]], coherence: list[float]) -> tuple[Cell, ...]:
    depth = (
        float(np.mean([found["organization"].trees[axis].relative_depth for found in results]))
        for axis in ("query", "key", "head")
    )
    entropy = float(np.mean([found["network-entropy"].normalised for found in results]))
    return (builder, len(results), float(np.mean(coherence)), *depth, entropy)


def _held_out(part: RunPart, question: Question, on_progress: OnProgress | None) -> tuple[Cell, ...]:
    found = held_out_coherence(part, question.options, on_progress=on_progress)
    values = (found.mean_heads, found.error_heads, found.mean_batches, found.error_batches)
    return tuple(value if np.isfinite(value) else None for value in values)
