"""One table of everything that a run knows of each head: its type, its diagnostics, its Haar scores."""

from __future__ import annotations

from haarbor.analysis import ResultTable, asked_part, head_scores
from haarbor.diagnostics._run_diagnostics import run_types
from haarbor.head_labels import head_labels
from haarbor.store import Run, RunPart

__all__ = ["heads_table"]


def heads_table(run: Run | RunPart, *, content: str | None = None, stream: str | None = None) -> ResultTable:
    """Scores and type of every head of a run, means over its batches.

    Parameters
    ----------
    run : Run or RunPart
        Organised.
    content : {"probabilities", "logits"}, optional
        Which Haar scores are shown; diagnostics are those of the probabilities.
    stream : str, optional

    Returns
    -------
    ResultTable
        One row per head; the columns of its type are empty if the run holds no diagnostics.

    Raises
    ------
    DataError
        If the run holds no scores.

    See Also
    --------
    haarbor.diagnostics.run_types : Types of the heads of a run.
    haarbor.analysis.head_scores : Scores that a run holds.
    """
    part = asked_part(run, content, stream)
    sizes = part.sizes
    scores = head_scores(part)
    types = run_types(part)
    names = head_labels(sizes.n_layers, sizes.n_heads)
    rows = tuple(
        (
            name,
            head // sizes.n_heads,
            types[head].name if types else None,
            types[head].figure if types else None,
            types[head].value if types else None,
            *(float(score.values[head]) for score in scores),
        )
        for head, name in enumerate(names)
    )
    return ResultTable(
        name="head_scores",
        title=f"Heads of {part.run.model}",
        columns=("head", "layer", "type", "decided_by", "decided_at", *(score.name for score in scores)),
        rows=rows,
        caption="Means over the batches. " + " ".join(f"{score.name}: {score.meaning}" for score in scores),
    )
