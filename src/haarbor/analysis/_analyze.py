"""Capture a model and organise its heads without writing the attention itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from haarbor.analysis._asked_part import asked_part
from haarbor.analysis._batch_results import batch_results
from haarbor.analysis._builder_results import NOTE
from haarbor.analysis._organize_run import HEAD_DISTANCES, finished_results, keep_results, organize_run
from haarbor.analysis._question import Question
from haarbor.engines import engine_named
from haarbor.errors import SettingError
from haarbor.questionnaire import distances_on_own_trees
from haarbor.store import Run, create_run

if TYPE_CHECKING:
    import torch

__all__ = ["analyze"]


def analyze(
    model: torch.nn.Module,
    batches: Iterable[Any],
    location: str | os.PathLike[str],
    *,
    options: Mapping[str, Any] | None = None,
    k: int = 400,
    network_k: int = 100,
    memory: int | str | None = None,
    on_batch: Callable[[Run, int], None] | None = None,
    **capturing: Any,
) -> Run:
    """Organise and score the attention of a model on some batches; keep the results and nothing else.

    One batch after the other is captured into memory, compressed, organised, and let go. The run that is
    left is small: trees, affinities, entropies, masks and labels of every stream. Called again with the same
    arguments, it goes on where it was interrupted.

    Parameters
    ----------
    model : torch.nn.Module
    batches : iterable
    location : str or path
        As of :func:`haarbor.capture`.
    options : mapping, optional
        Of :func:`haarbor.organize`. Haar trees are refused: those of all batches together are made from the
        attention of all of them.
    k, network_k : int
    memory : int or str, optional
        As of :func:`haarbor.organize_run`.
    on_batch : function of (Run, int), optional
        Called after each batch is organised, while its attention can still be read.
    **capturing
        Other options of :func:`haarbor.capture`, such as `pool`.

    Returns
    -------
    Run
        Organised. Whatever needs the attention itself refuses it in one line.

    Raises
    ------
    CaptureError, SettingError, StoreError
        As :func:`haarbor.capture` and :func:`haarbor.organize_run`.

    See Also
    --------
    haarbor.capture : Record the attention of a model.
    haarbor.organize_run : Organise and score every batch of a run.
    """
    from haarbor.capturing import begun_run, capture

    if "keeps" in capturing:
        raise SettingError("keeps must be left to analyze, which keeps results. Leave it out.")
    question = Question.asked(options, k, network_k)
    engine = dict(options or {}).get("engine", "auto")
    if engine_named(engine).name == "cluster":
        raise SettingError(
            "engine must be one that works in this process, which holds the attention; found a cluster. "
            "Capture into a run, and organise that on the cluster."
        )
    if question.options["tree"] == "haar":
        raise SettingError(
            "tree must be 'flexible' or 'binary' where no attention is kept; found 'haar', whose tree of all "
            "batches is made from all of it. Capture into a run, and organise that."
        )
    begun = begun_run(location)
    if begun is not None and begun.plan.keeps == "results":
        _forget_unfinished(begun, location, question)

    def organize_batch(run: Run, batch: int) -> None:
        for stream in run.streams:
            part = asked_part(run, None, stream)
            found, tensor = batch_results(part, batch, question, engine, memory)
            org = found.organization
            distances = distances_on_own_trees(tensor, org.trees, org.settings, "head", engine_named("auto"))
            part.save_result(distances, HEAD_DISTANCES, batch=batch)
            keep_results(part, batch, question, found)
        if on_batch is not None:
            on_batch(run, batch)

    run = capture(model, batches, location, keeps="results", on_batch=organize_batch, **capturing)
    for stream in run.streams:
        organize_run(asked_part(run, None, stream), options=options, k=k, network_k=network_k)
    return run


def _forget_unfinished(run: Run, location: str | os.PathLike[str], question: Question) -> None:
    """Remove batches that were captured and not organised; refuse those organised with other options."""
    unfinished = []
    for batch in run.batches:
        for stream in run.streams:
            part = asked_part(run, None, stream)
            note = Question.kept(part.kept_result(NOTE, batch=batch).value)
            if note is not None and note != question:
                raise SettingError(
                    f"an analysis is continued with the options it was begun with; {run.location} was begun "
                    "with others, and keeps no attention to begin anew. Use the same, or another place."
                )
            if finished_results(part, batch, question) is None:
                unfinished.append(batch)
    if unfinished:
        with create_run(location, run.plan) as writer:
            for batch in dict.fromkeys(unfinished):
                writer.discard(batch)
