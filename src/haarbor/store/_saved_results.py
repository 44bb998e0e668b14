"""The results every run may hold, under their usual names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from haarbor.errors import StoreError
from haarbor.questionnaire import Consensus, Organization
from haarbor.store._run import Run
from haarbor.wavelets import HeadEntropy, NetworkEntropy, RankingStability

__all__ = [
    "load_consensus",
    "load_head_entropy",
    "load_network_entropy",
    "load_organization",
    "load_ranking_stability",
    "save_consensus",
    "save_head_entropy",
    "save_network_entropy",
    "save_organization",
    "save_ranking_stability",
]

_Result = TypeVar("_Result")


def save_organization(
    run: Run, organization: Organization, batch: int, *, content: str | None = None, stream: str | None = None
) -> None:
    """Keep the organisation of a batch in its run; see :meth:`Run.save_result`."""
    run.save_result(organization, "organization", batch=batch, content=content, stream=stream)


def load_organization(
    run: Run, batch: int, *, content: str | None = None, stream: str | None = None
) -> Organization:
    """Organisation of a batch; StoreError if there is none."""
    return _of_type(
        Organization, run.load_result("organization", batch=batch, content=content, stream=stream)
    )


def save_head_entropy(
    run: Run, entropy: HeadEntropy, batch: int, *, content: str | None = None, stream: str | None = None
) -> None:
    """Keep the entropies of the heads on a batch."""
    run.save_result(entropy, "head-entropy", batch=batch, content=content, stream=stream)


def load_head_entropy(
    run: Run, batch: int, *, content: str | None = None, stream: str | None = None
) -> HeadEntropy:
    """Entropies of the heads on a batch; StoreError if there are none."""
    return _of_type(HeadEntropy, run.load_result("head-entropy", batch=batch, content=content, stream=stream))


def save_network_entropy(
    run: Run, entropy: NetworkEntropy, batch: int, *, content: str | None = None, stream: str | None = None
) -> None:
    """Keep the entropy of the network on a batch."""
    run.save_result(entropy, "network-entropy", batch=batch, content=content, stream=stream)


def load_network_entropy(
    run: Run, batch: int, *, content: str | None = None, stream: str | None = None
) -> NetworkEntropy:
    """Entropy of the network on a batch; StoreError if there is none."""
    found = run.load_result("network-entropy", batch=batch, content=content, stream=stream)
    return _of_type(NetworkEntropy, found)


def save_ranking_stability(
    run: Run,
    stability: RankingStability,
    *,
    batches: Sequence[int] | None = None,
    content: str | None = None,
    stream: str | None = None,
) -> None:
    """Keep how much the rankings of the heads agree over the batches, all of them if not told."""
    run.save_result(stability, "ranking-stability", batch=batches, content=content, stream=stream)


def load_ranking_stability(
    run: Run,
    *,
    batches: Sequence[int] | None = None,
    content: str | None = None,
    stream: str | None = None,
) -> RankingStability:
    """Agreement of the rankings over the batches; StoreError if there is none."""
    found = run.load_result("ranking-stability", batch=batches, content=content, stream=stream)
    return _of_type(RankingStability, found)


def save_consensus(
    run: Run,
    consensus: Consensus,
    *,
    batches: Sequence[int] | None = None,
    content: str | None = None,
    stream: str | None = None,
) -> None:
    """Keep the organisation of the heads over the batches together, all of them if not told."""
    run.save_result(consensus, "consensus", batch=batches, content=content, stream=stream)


def load_consensus(
    run: Run,
    *,
    batches: Sequence[int] | None = None,
    content: str | None = None,
    stream: str | None = None,
) -> Consensus:
    """Organisation of the heads over the batches together; StoreError if there is none."""
    return _of_type(Consensus, run.load_result("consensus", batch=batches, content=content, stream=stream))


def _of_type(cls: type[_Result], value: object) -> _Result:
    if not isinstance(value, cls):
        raise StoreError(
            f"the result must be a {cls.__name__}; found {type(value).__name__}. "
            "Another program saved it there."
        )
    return value
