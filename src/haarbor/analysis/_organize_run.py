"""Organise and score every batch of a run, then all batches together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.analysis._asked_part import asked_part
from haarbor.analysis._batch_results import BatchResults, batch_results, batch_tensor
from haarbor.analysis._builder_results import NOTE, OF_A_BATCH, aside, put_aside
from haarbor.analysis._cluster_batches import ClusterBatches
from haarbor.analysis._damaged_results import damaged_name, tell_remade, whole_result
from haarbor.analysis._question import Question
from haarbor.analysis._streamed_batch import batch_plan
from haarbor.array_types import FloatArray
from haarbor.engines import ClusterEngine, engine_named
from haarbor.errors import DataError
from haarbor.on_progress import OnProgress
from haarbor.options import require_function
from haarbor.questionnaire import Consensus, MemoryPlan, OwnDistances, consensus
from haarbor.store import Run, RunPart
from haarbor.wavelets import HeadEntropy, NetworkEntropy, RankingStability, ranking_stability

__all__ = ["HEAD_DISTANCES", "RunAnalysis", "finished_results", "keep_results", "organize_run"]

HEAD_DISTANCES = "head-distances"
"""Result of a batch whose attention was not kept: the distances of its heads along its own trees."""


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
        Options of :func:`haarbor.organize`, such as ``n_iterations``. With ``engine="cluster"``, or a
        :class:`haarbor.ClusterEngine` with the address of a scheduler, its workers organise the batches.
    k, network_k : int
        How many Haar functions the entropies of the heads and of the network sum over.
    on_progress : function of (step, done, total), optional
    memory : int or str, optional
        What this process may take, in bytes or as in "2GB"; batches that do not fit are organised from
        temporary files, as :func:`haarbor.organize` says. On a cluster, what each worker may take.
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
    EngineError
        If the scheduler or the workers of a cluster cannot be used, or are lost; every batch that was
        finished is kept, and the next call goes on from there.

    Warns
    -----
    ResultWarning
        If results were damaged; they have been made again.

    See Also
    --------
    haarbor.organize : Trees of one tensor.
    haarbor.consensus : One tree from all batches.
    haarbor.ranking_stability : Agreement of rankings over batches.
    haarbor.report.write_report : Write the page.

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
    engine: Any = dict(options or {}).get("engine", "auto")
    named = engine_named(engine)
    if isinstance(named, ClusterEngine):
        engine = named  # "auto" stays a name: it picks for each batch by its size
    batches = part.batches
    if not batches:
        raise DataError("the run must have at least one complete batch; it has none. Capture again.")
    results_only = part.run.plan.keeps == "results"
    if results_only and any(finished_results(part, batch, question) is None for batch in batches):
        # Before anything is replaced: what is there could not be made again.
        part.run.require_tensors()
    if memory is not None and not results_only:
        # Before anything is done: what was kept must not be lost for a limit that is too small.
        plan = batch_plan(part, batches[0], memory)
        plan.require_offered(question.options["tree"], question.options["initial"])
        if on_plan is not None:
            on_plan(plan)
    damaged: list[str] = []
    stability = whole_result(part, "ranking-stability", RankingStability, damaged, batch=None)
    together = whole_result(part, "consensus", Consensus, damaged, batch=None)
    each: dict[int, BatchResults] = {}
    for batch in batches:
        found = _finished(part, batch, question, damaged)
        if found is None:
            # They are made from all batches, so they are no longer valid once one batch changes.
            stability = together = None
            part.delete_result("ranking-stability")
            part.delete_result("consensus")
            put_aside(part, batch, question)
            found = _taken_back(part, batch, question)
        if found is not None:
            each[batch] = found
            if on_progress is not None:
                on_progress("organising", len(each), len(batches))
    made = [batch for batch in batches if batch not in each]
    on_cluster = isinstance(engine, ClusterEngine) and (bool(made) or together is None)
    with engine.session() if on_cluster else nullcontext() as session:
        elsewhere = None if session is None else ClusterBatches(part, question, memory, session)
        distances: dict[int, FloatArray] = {}
        for batch, found, between in _made(part, made, question, engine, memory, elsewhere):
            keep_results(part, batch, question, found)
            each[batch] = found
            if between is not None:
                distances[batch] = between
            if on_progress is not None:
                on_progress("organising", len(each), len(batches))
        organizations = {batch: each[batch].organization for batch in batches}
        if elsewhere is not None and question.options["tree"] != "haar":
            left = {batch: organizations[batch] for batch in batches if batch not in distances}
            distances.update(elsewhere.distances(left))
    if stability is None:
        stability = ranking_stability(np.stack([each[batch].head_entropy.raw for batch in batches]))
        part.save_result(stability, "ranking-stability")
    if together is None:
        if results_only:
            distances = {batch: part.load_result(HEAD_DISTANCES, batch=batch) for batch in batches}
        tensors: Iterator[Any] = (
            OwnDistances(distances[batch]) if batch in distances else batch_tensor(part, batch, memory)
            for batch in batches
        )
        here = "auto" if on_cluster else engine
        together = consensus(tensors, list(organizations.values()), engine=here)
        part.save_result(together, "consensus")
    tell_remade(damaged)
    return RunAnalysis(
        batches=batches,
        content=part.content,
        stream=part.stream,
        tree=question.options["tree"],
        head_entropies=tuple(each[batch].head_entropy for batch in batches),
        network_entropies=tuple(each[batch].network_entropy for batch in batches),
        stability=stability,
        consensus=together,
        n_reused=len(batches) - len(made),
        remade=tuple(damaged),
    )


def _made(
    part: RunPart,
    batches: Sequence[int],
    question: Question,
    engine: Any,
    memory: int | str | None,
    elsewhere: ClusterBatches | None,
) -> Iterator[tuple[int, BatchResults, FloatArray | None]]:
    """Each batch organised and scored, here one after the other or on the workers of a cluster."""
    if elsewhere is not None:
        yield from elsewhere.results(batches)
        return
    for batch in batches:
        yield batch, batch_results(part, batch, question, engine, memory)[0], None


def finished_results(part: RunPart, batch: int, question: Question) -> BatchResults | None:
    """Results of a batch for a question, if all are there and whole."""
    return _finished(part, batch, question, [])


def _finished(part: RunPart, batch: int, question: Question, damaged: list[str]) -> BatchResults | None:
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
    return BatchResults(found["organization"], found["head-entropy"], found["network-entropy"])


def _taken_back(part: RunPart, batch: int, question: Question) -> BatchResults | None:
    """Results of the builder that were put aside, if they are those asked for; now the current ones."""
    values = aside(part, batch, question)
    if values is None:
        return None
    found = BatchResults(values["organization"], values["head-entropy"], values["network-entropy"])
    keep_results(part, batch, question, found)
    return found


def keep_results(part: RunPart, batch: int, question: Question, found: BatchResults) -> None:
    """Keep the results of a batch; the note of the question comes last and says that all are there."""
    results = {
        "organization": found.organization,
        "head-entropy": found.head_entropy,
        "network-entropy": found.network_entropy,
    }
    part.delete_result(NOTE, batch=batch)
    for name, value in {**results, NOTE: question.to_result()}.items():
        part.save_result(value, name, batch=batch)
