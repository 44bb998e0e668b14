"""Every batch of a run organised and scored, and all batches together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from haarbor.analysis._chosen_parts import chosen_parts
from haarbor.analysis._damaged_results import damaged_name, tell_remade, whole_result
from haarbor.analysis._question import Question
from haarbor.analysis._valid_tokens import valid_tokens
from haarbor.errors import DataError
from haarbor.options import require_function
from haarbor.questionnaire import Consensus, Organization, consensus, organize
from haarbor.spectral import DiffusionMap, diffusion_map
from haarbor.store import Run
from haarbor.wavelets import (
    HeadEntropy,
    NetworkEntropy,
    RankingStability,
    head_entropy,
    network_entropy,
    ranking_stability,
)

__all__ = ["RunAnalysis", "organize_run"]

_OF_A_BATCH: Mapping[str, type] = {
    "organization": Organization,
    "head-map": DiffusionMap,
    "head-entropy": HeadEntropy,
    "network-entropy": NetworkEntropy,
    "valid-tokens": dict,
}
_NOTE = "asked"
"""Says what a batch was asked; written last, it stands for all the rest."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunAnalysis:
    """What was found in a run."""

    batches: tuple[int, ...]
    content: str
    stream: str
    head_entropies: tuple[HeadEntropy, ...]
    network_entropies: tuple[NetworkEntropy, ...]
    stability: RankingStability
    consensus: Consensus
    n_reused: int
    """Batches whose results were there already."""
    remade: tuple[str, ...]
    """Results that were damaged and have been made again, as in "organization of batch 3"."""

    @property
    def n_remade(self) -> int:
        """How many results were damaged and have been made again."""
        return len(self.remade)


class _Batch(NamedTuple):
    """What all batches together are made of."""

    organization: Organization
    head_entropy: HeadEntropy
    network_entropy: NetworkEntropy


def organize_run(
    run: Run,
    *,
    content: str | None = None,
    stream: str | None = None,
    options: Mapping[str, Any] | None = None,
    k: int = 400,
    network_k: int = 100,
    on_progress: Callable[[int, int], None] | None = None,
) -> RunAnalysis:
    """Organise and score every batch of a run; keep all results in it.

    For each batch the trees, affinities, diffusion map of the heads and entropies; for all of them
    the stability of the entropy ranking and one consensus tree of heads. What an earlier call with
    options of the same meaning has finished is not done again, unless it was damaged since.

    Parameters
    ----------
    run : Run
    content : {"probabilities", "logits"}, optional
        The first the run holds if not given.
    stream : str, optional
        The first one if not given.
    options : mapping, optional
        Options of :func:`haarbor.organize`, such as ``n_iterations``.
    k, network_k : int
        Functions summed over in the entropies of heads and of the network.
    on_progress : function of (batches done, batches in all), optional

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
    """
    chosen = chosen_parts(run, content, stream)
    question = Question.asked(options, k, network_k)
    require_function("on_progress", on_progress)
    engine = dict(options or {}).get("engine", "auto")
    batches = run.batches
    if not batches:
        raise DataError("the run must have at least one complete batch; it has none. Capture again.")
    damaged: list[str] = []
    stability = whole_result(run, "ranking-stability", RankingStability, damaged, batch=None, **chosen)
    together = whole_result(run, "consensus", Consensus, damaged, batch=None, **chosen)
    each: list[_Batch] = []
    made = 0
    for done, batch in enumerate(batches):
        found = _finished(run, batch, chosen, question, damaged)
        if found is None:
            if not made:
                # Made of all batches, so they end with the first that changes.
                stability = together = None
                run.delete_result("ranking-stability", **chosen)
                run.delete_result("consensus", **chosen)
            made += 1
            found = _organize_batch(run, batch, chosen, question, engine)
        each.append(found)
        if on_progress is not None:
            on_progress(done + 1, len(batches))
    if stability is None:
        stability = ranking_stability(np.stack([found.head_entropy.raw for found in each]))
        run.save_result(stability, "ranking-stability", **chosen)
    if together is None:
        organizations = [found.organization for found in each]
        together = consensus(_tensors(run, batches, chosen), organizations, engine=engine)
        run.save_result(together, "consensus", **chosen)
    tell_remade(damaged)
    return RunAnalysis(
        batches=batches,
        head_entropies=tuple(found.head_entropy for found in each),
        network_entropies=tuple(found.network_entropy for found in each),
        stability=stability,
        consensus=together,
        n_reused=len(batches) - made,
        remade=tuple(damaged),
        **chosen,
    )


def _tensors(run: Run, batches: Sequence[int], chosen: Mapping[str, str]) -> Iterator[Any]:
    for batch in batches:
        tokens = valid_tokens(run.tensor(batch, **chosen), run.mask(batch, chosen["stream"]))
        yield tokens.filled(chosen["content"])


def _finished(
    run: Run, batch: int, chosen: Mapping[str, Any], question: Question, damaged: list[str]
) -> _Batch | None:
    """Results of a batch if all are there; the names of damaged ones go to `damaged`."""
    note = whole_result(run, _NOTE, dict, damaged, batch=batch, **chosen)
    if note is None or Question.kept(note) != question:
        return None
    found = {name: run.kept_result(name, batch=batch, **chosen).value for name in _OF_A_BATCH}
    # Also those that are gone: the note says that they were there.
    lost = [name for name, kind in _OF_A_BATCH.items() if not isinstance(found[name], kind)]
    damaged += [damaged_name(name, batch) for name in lost]
    if lost:
        return None
    return _Batch(found["organization"], found["head-entropy"], found["network-entropy"])


def _organize_batch(
    run: Run, batch: int, chosen: Mapping[str, Any], question: Question, engine: Any
) -> _Batch:
    tokens = valid_tokens(run.tensor(batch, **chosen), run.mask(batch, chosen["stream"]))
    mask = None if tokens.mask.all() else tokens.mask
    org = organize(tokens.tensor, mask=mask, content=chosen["content"], engine=engine, **question.options)
    X = tokens.filled(chosen["content"])
    found = _Batch(
        org, head_entropy(X, org.trees, question.k), network_entropy(X, org.trees, question.network_k)
    )
    results = {
        "organization": org,
        "head-map": diffusion_map(org.affinities["head"]),
        "head-entropy": found.head_entropy,
        "network-entropy": found.network_entropy,
        "valid-tokens": {"queries": tokens.queries, "keys": tokens.keys},
    }
    run.delete_result(_NOTE, batch=batch, **chosen)
    for name, value in {**results, _NOTE: question.to_result()}.items():
        run.save_result(value, name, batch=batch, **chosen)
    return found
