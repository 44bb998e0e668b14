"""Results of several tree builders side by side in one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from haarbor.analysis._question import Question
from haarbor.questionnaire import BUILDERS, Organization
from haarbor.store import RunPart
from haarbor.wavelets import HeadEntropy, NetworkEntropy

__all__ = ["NOTE", "OF_A_BATCH", "aside", "builder_results", "put_aside"]

OF_A_BATCH: Mapping[str, type] = {
    "organization": Organization,
    "head-entropy": HeadEntropy,
    "network-entropy": NetworkEntropy,
}
NOTE = "asked"
"""Result that holds the options a batch was organised with. It is written last: where it is, the other
results of the batch are complete."""


def put_aside(part: RunPart, batch: int, question: Question) -> None:
    """Keep the current results of a batch under the name of their builder, if `question` has another one."""
    kept = Question.kept(part.kept_result(NOTE, batch=batch).value)
    if kept is None or kept.options["tree"] == question.options["tree"]:
        return
    values = _whole(part, batch, "")
    if values is None:
        return
    suffix = f".{kept.options['tree']}"
    part.delete_result(NOTE + suffix, batch=batch)
    for name, value in {**values, NOTE: kept.to_result()}.items():
        part.save_result(value, name + suffix, batch=batch)


def aside(part: RunPart, batch: int, question: Question) -> dict[str, Any] | None:
    """Results of a batch that were put aside, by name, if they answer `question`."""
    suffix = f".{question.options['tree']}"
    if Question.kept(part.kept_result(NOTE + suffix, batch=batch).value) != question:
        return None
    return _whole(part, batch, suffix)


def builder_results(part: RunPart, batch: int) -> dict[str, tuple[Question, dict[str, Any]]]:
    """Options and results of a batch by builder, the current ones and those that were put aside.

    Parameters
    ----------
    part : RunPart
    batch : int

    Returns
    -------
    dict of builder to (Question, dict of name to result)
        In the order of the builders; only what is whole.

    See Also
    --------
    haarbor.analysis.compare_builders : All builders of a run in a table.
    """
    found: dict[str, tuple[Question, dict[str, Any]]] = {}
    for suffix in ("", *(f".{builder}" for builder in BUILDERS)):
        kept = Question.kept(part.kept_result(NOTE + suffix, batch=batch).value)
        values = None if kept is None else _whole(part, batch, suffix)
        if kept is not None and values is not None:
            # The current results come first, and are the newest of their builder.
            found.setdefault(kept.options["tree"], (kept, values))
    return {builder: found[builder] for builder in BUILDERS if builder in found}


def _whole(part: RunPart, batch: int, suffix: str) -> dict[str, Any] | None:
    values = {name: part.kept_result(name + suffix, batch=batch).value for name in OF_A_BATCH}
    return values if all(isinstance(values[name], kind) for name, kind in OF_A_BATCH.items()) else None
