"""Organise and score every batch of a run, then all batches together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from haarbor.analysis._asked_part import asked_part
from haarbor.analysis._builder_results import NOTE, OF_A_BATCH, aside, put_aside
from haarbor.analysis._damaged_results import damaged_name, tell_remade, whole_result
from haarbor.analysis._question import Question
from haarbor.analysis._streamed_batch import batch_plan, streamed_batch
from haarbor.analysis._valid_tokens import valid_tokens
from haarbor.errors import DataError
from haarbor.on_progress import OnProgress
from haarbor.options import require_function
from haarbor.questionnaire import Consensus, MemoryPlan, Organization, consensus, organize
from haarbor.store import Run, RunPart
from haarbor.wavelets import (
    HeadEntropy,
    NetworkEntropy,
    RankingStability,
    head_entropy,
    network_entropy,
    ranking_stability,
    streamed_head_entropy,
    streamed_network_entropy,
)

__all__ = ["RunAnalysis", "organize_run"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunAnalysis:
    """Results of :func:`organize_run`."""

    batches: tuple[int, ...]
    content: str
    stream: str
    tree: str
    """Builder of the trees: "flexible", "binary" or "haar"."""
    head_entropies: tuple[HeadEntropy, ...]
    network_entropies: tuple[NetworkEntropy, ...]
    stability: RankingStability
    consensus: Consensus
    n_reused: int
    """Number of batches whose results were in the run already."""
    remade: tuple[str, ...]
    """Results that were damaged and have been made again, as in "organization of batch 3"."""

    @property
    def n_remade(self) -> int:
        """How many results were damaged and have been made again."""
        return len(self.remade)


class _Batch(NamedTuple):
    """Results of one batch."""

    organization: Organization
    head_entropy: HeadEntropy
    network_entropy: NetworkEntropy


def organize_run(
    run: Run | RunPart,
    *,
    content: str | None = None,
    stream: str | None = None,
    options: Mapping[str, Any] | None = None,
    k: int = 400,
    network_k: int = 100,
    on_progress: OnProgress | None = None,
    memory: int | str | None = None,
    on_plan: Callable[[MemoryPlan], object] | None = None,
) -> RunAnalysis:
    """Organise and score every batch of a run; keep all results in it.

    Each batch gets trees, affinities and entropies. All batches together get the stability of the
    entropy ranking and one consensus tree of heads. What an earlier call with options of the same
    meaning has finished is not done again, unless it was damaged since.

    Parameters
    ----------
    run : Run or RunPart
    content : {"probabilities", "logits"}, optional
    stream : str, optional
        :meth:`haarbor.store.Run.part` says which content and stream are the default.
    options : mapping, optional
        Options of :func:`haarbor.organize`, such as ``n_iterations``.
    k, network_k : int
        How many Haar functions the entropies of the heads and of the network sum over.
    on_progress : function of (step, done, total), optional
    memory : int or str, optional
        What this process may take, in bytes or as in "2GB"; batches that do not fit are organised from
        temporary files, as :func:`haarbor.organize` says.
    on_plan : function of a MemoryPlan, optional
        Called before anything is done, where `memory` is given; ``print`` tells the plan.

    Returns
    -------
    RunAnalysis

    Raises
    ------
    DataError
        If the run has no complete batch.
    SettingError
        If the run has no such content or stream, or an option is not offered.

    Warns
    -----
    ResultWarning
        If results were damaged; they have been made again.

    Notes
    -----
    Padding is cut away before anything is computed, so batches may differ in tokens.

    The results of another builder (``options={"tree": "haar"}``) are put aside, not lost: asked for again
    they are taken back, and :func:`haarbor.analysis.compare_builders` compares all that are there.
    """
    part = asked_part(run, content, stream)
    question = Question.asked(options, k, network_k)
    require_function("on_progress", on_progress)
    require_function("on_plan", on_plan)
    engine = dict(options or {}).get("engine", "auto")
    batches = part.batches
    if not batches:
        raise DataError("the run must have at least one complete batch; it has none. Capture again.")
    if memory is not None:
        # Before anything is done: what was kept must not be lost for a limit that is too small.
        plan = batch_plan(part, batches[0], memory)
        plan.require_offered(question.options["tree"], question.options["initial"])
        if on_plan is not None:
            on_plan(plan)
    damaged: list[str] = []
    stability = whole_result(part, "ranking-stability", RankingStability, damaged, batch=None)
    together = whole_result(part, "consensus", Consensus, damaged, batch=None)
    each: list[_Batch] = []
    made = 0
    for done, batch in enumerate(batches):
        found = _finished(part, batch, question, damaged)
        if found is None:
            # They are made from all batches, so they are no longer valid once one batch changes.
            stability = together = None
            part.delete_result("ranking-stability")
            part.delete_result("consensus")
            put_aside(part, batch, question)
            found = _taken_back(part, batch, question)
        if found is None:
            made += 1
            found = _organize_batch(part, batch, question, engine, memory)
        each.append(found)
        if on_progress is not None:
            on_progress("organising", done + 1, len(batches))
    if stability is None:
        stability = ranking_stability(np.stack([found.head_entropy.raw for found in each]))
        part.save_result(stability, "ranking-stability")
    if together is None:
        organizations = [found.organization for found in each]
        together = consensus(_tensors(part, batches, memory), organizations, engine=engine)
        part.save_result(together, "consensus")
    tell_remade(damaged)
    return RunAnalysis(
        batches=batches,
        content=part.content,
        stream=part.stream,
        tree=question.options["tree"],
        head_entropies=tuple(found.head_entropy for found in each),
        network_entropies=tuple(found.network_entropy for found in each),
        stability=stability,
        consensus=together,
        n_reused=len(batches) - made,
        remade=tuple(damaged),
    )


def _tensors(part: RunPart, batches: Sequence[int], memory: int | str | None) -> Iterator[Any]:
    for batch in batches:
        streamed = streamed_batch(part, batch, memory)
        if streamed is not None:
            yield streamed
            continue
        tokens = valid_tokens(part.tensor(batch), part.mask(batch))
        yield tokens.filled(part.content)


def _finished(part: RunPart, batch: int, question: Question, damaged: list[str]) -> _Batch | None:
    """Return the results of a batch if all are there; append the names of damaged ones to `damaged`."""
    note = whole_result(part, NOTE, dict, damaged, batch=batch)
    if note is None or Question.kept(note) != question:
        return None
    found = {name: part.kept_result(name, batch=batch).value for name in OF_A_BATCH}
    # Missing results count as damaged too: the note says that they were there.
    lost = [name for name, kind in OF_A_BATCH.items() if not isinstance(found[name], kind)]
    damaged += [damaged_name(name, batch) for name in lost]
    if lost:
        return None
    return _Batch(found["organization"], found["head-entropy"], found["network-entropy"])


def _organize_batch(
    part: RunPart,
    batch: int,
    question: Question,
    engine: Any,
    memory: int | str | None,
) -> _Batch:
    streamed = streamed_batch(part, batch, memory)
    if streamed is not None:
        org = organize(streamed, engine=engine, **question.options)  # type: ignore[arg-type]
        limits = {"exponent": streamed.exponent, "piece_bytes": streamed.plan.piece_bytes}
        found = _Batch(
            org,
            streamed_head_entropy(streamed.scratch, org.trees, question.k, **limits),
            streamed_network_entropy(streamed.by_query, org.trees, question.network_k, **limits),
        )
        _keep(part, batch, question, found)
        return found
    tokens = valid_tokens(part.tensor(batch), part.mask(batch))
    mask = None if tokens.mask.all() else tokens.mask
    org = organize(tokens.tensor, mask=mask, content=part.content, engine=engine, **question.options)
    X = tokens.filled(part.content)
    found = _Batch(
        org, head_entropy(X, org.trees, question.k), network_entropy(X, org.trees, question.network_k)
    )
    _keep(part, batch, question, found)
    return found


def _taken_back(part: RunPart, batch: int, question: Question) -> _Batch | None:
    """Results of the builder that were put aside, if they are those asked for; now the current ones."""
    values = aside(part, batch, question)
    if values is None:
        return None
    found = _Batch(values["organization"], values["head-entropy"], values["network-entropy"])
    _keep(part, batch, question, found)
    return found


def _keep(part: RunPart, batch: int, question: Question, found: _Batch) -> None:
    results = {
        "organization": found.organization,
        "head-entropy": found.head_entropy,
        "network-entropy": found.network_entropy,
    }
    part.delete_result(NOTE, batch=batch)
    for name, value in {**results, NOTE: question.to_result()}.items():
        part.save_result(value, name, batch=batch)
