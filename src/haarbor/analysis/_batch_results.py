"""Trees and entropies of one batch of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from haarbor.analysis._question import Question
from haarbor.analysis._streamed_batch import streamed_batch
from haarbor.analysis._valid_tokens import valid_tokens
from haarbor.questionnaire import Organization, StreamedTensor, organize
from haarbor.store import RunPart
from haarbor.trees import PartitionTree
from haarbor.wavelets import (
    HeadEntropy,
    NetworkEntropy,
    head_entropy,
    network_entropy,
    streamed_head_entropy,
    streamed_network_entropy,
)

__all__ = ["BatchResults", "batch_results", "batch_tensor", "entropies_on"]


class BatchResults(NamedTuple):
    """Results of one batch."""

    organization: Organization
    head_entropy: HeadEntropy
    network_entropy: NetworkEntropy


def batch_tensor(part: RunPart, batch: int, memory: int | str | None) -> Any:
    """Valid part of a batch as it is scored, in temporary files if it does not fit into memory."""
    streamed = streamed_batch(part, batch, memory)
    if streamed is not None:
        return streamed
    return valid_tokens(part.tensor(batch), part.mask(batch)).filled(part.content)


def batch_results(
    part: RunPart, batch: int, question: Question, engine: Any, memory: int | str | None
) -> tuple[BatchResults, Any]:
    """Organise and score one batch.

    Returns
    -------
    results : BatchResults
    tensor : ndarray or StreamedTensor
        What :func:`batch_tensor` returns.
    """
    streamed = streamed_batch(part, batch, memory)
    if streamed is not None:
        org = organize(streamed, engine=engine, **question.options)  # type: ignore[arg-type]
        return BatchResults(org, *entropies_on(streamed, org.trees, question)), streamed
    tokens = valid_tokens(part.tensor(batch), part.mask(batch))
    mask = None if tokens.mask.all() else tokens.mask
    org = organize(tokens.tensor, mask=mask, content=part.content, engine=engine, **question.options)
    X = tokens.filled(part.content)
    return BatchResults(org, *entropies_on(X, org.trees, question)), X


def entropies_on(
    X: Any, trees: Mapping[str, PartitionTree], question: Question
) -> tuple[HeadEntropy, NetworkEntropy]:
    """Entropies of the heads and of the network of a batch on its trees."""
    if isinstance(X, StreamedTensor):
        limits = {"exponent": X.exponent, "piece_bytes": X.plan.piece_bytes}
        return (
            streamed_head_entropy(X.scratch, trees, question.k, **limits),
            streamed_network_entropy(X.scratch, trees, question.network_k, **limits),
        )
    return head_entropy(X, trees, question.k), network_entropy(X, trees, question.network_k)
