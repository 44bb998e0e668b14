"""Every batch of a run organised and scored, and all batches together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.analysis.valid_tokens import valid_tokens
from haarbor.errors import DataError, SettingError
from haarbor.questionnaire import Consensus, Organization, consensus, organize
from haarbor.spectral import diffusion_map
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
    the same options has finished is not done again.

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

    Notes
    -----
    Padding is cut away before anything is computed, so batches may differ in tokens.
    """
    if not run.batches:
        raise DataError("the run must have at least one complete batch; it has none. Capture again.")
    chosen: dict[str, Any] = {"content": content or run.contents[0], "stream": stream or run.streams[0]}
    if chosen["stream"] not in run.streams:
        raise SettingError(f"stream must be one of {run.streams}; found {stream!r}.")
    asked = {"options": dict(options or {}), "k": k, "network_k": network_k}
    reused = 0
    for done, batch in enumerate(run.batches):
        if _finished(run, batch, chosen, asked):
            reused += 1
        else:
            # Made of all batches, so it ends with the first that changes.
            run.delete_result("consensus", **chosen)
            _organize_batch(run, batch, chosen, asked)
        if on_progress is not None:
            on_progress(done + 1, len(run.batches))

    def loaded(name: str) -> list[Any]:
        return [run.load_result(name, batch=batch, **chosen) for batch in run.batches]

    entropies: list[HeadEntropy] = loaded("head-entropy")
    organizations: list[Organization] = loaded("organization")
    stability = ranking_stability(np.stack([entropy.raw for entropy in entropies]))
    run.save_result(stability, "ranking-stability", **chosen)
    if run.has_result("consensus", **chosen):
        together: Consensus = run.load_result("consensus", **chosen)
    else:
        together = consensus(_tensors(run, chosen), organizations)
        run.save_result(together, "consensus", **chosen)
    return RunAnalysis(
        batches=run.batches,
        head_entropies=tuple(entropies),
        network_entropies=tuple(loaded("network-entropy")),
        stability=stability,
        consensus=together,
        n_reused=reused,
        **chosen,
    )


def _tensors(run: Run, chosen: Mapping[str, str]) -> Iterator[Any]:
    for batch in run.batches:
        tokens = valid_tokens(run.tensor(batch, **chosen), run.mask(batch, chosen["stream"]))
        yield tokens.filled(chosen["content"])


def _finished(run: Run, batch: int, chosen: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    # The note on what was asked is written last: it stands for all the rest.
    return (
        run.has_result("asked", batch=batch, **chosen)
        and run.load_result("asked", batch=batch, **chosen) == asked
    )


def _organize_batch(run: Run, batch: int, chosen: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    tokens = valid_tokens(run.tensor(batch, **chosen), run.mask(batch, chosen["stream"]))
    mask = None if tokens.mask.all() else tokens.mask
    org = organize(tokens.tensor, mask=mask, content=chosen["content"], **asked["options"])
    X = tokens.filled(chosen["content"])
    run.delete_result("asked", batch=batch, **chosen)
    run.save_result(org, "organization", batch=batch, **chosen)
    run.save_result(diffusion_map(org.affinities["head"]), "head-map", batch=batch, **chosen)
    run.save_result(head_entropy(X, org.trees, asked["k"]), "head-entropy", batch=batch, **chosen)
    run.save_result(
        network_entropy(X, org.trees, asked["network_k"]), "network-entropy", batch=batch, **chosen
    )
    run.save_result({"queries": tokens.queries, "keys": tokens.keys}, "valid-tokens", batch=batch, **chosen)
    run.save_result(asked, "asked", batch=batch, **chosen)
