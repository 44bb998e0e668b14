"""One small organised network for all figures."""

from dataclasses import dataclass

import numpy as np
import pytest

import haarbor as hb

pytest.importorskip("matplotlib")


@dataclass(frozen=True)
class Case:
    X: np.ndarray
    mask: np.ndarray
    organization: hb.Organization
    head_layers: np.ndarray


def organised(n_queries=20, n_keys=20, n_layers=3, heads_per_layer=4, **options) -> Case:
    network = hb.datasets.synthetic_network(max(n_queries, n_keys), n_layers, heads_per_layer, **options)
    X = network.tensor[:n_queries, :n_keys]
    return Case(X, network.mask[:n_queries, :n_keys], hb.organize(X), network.head_layers)


@pytest.fixture(scope="session")
def causal() -> Case:
    return organised()


@pytest.fixture(scope="session")
def rectangular() -> Case:
    return organised(14, 24, causal=False)


@pytest.fixture(scope="session")
def one_head() -> Case:
    return organised(12, 12, n_layers=1, heads_per_layer=1)


@pytest.fixture(scope="session")
def batches(causal):
    """Head entropies of four batches on the trees of one."""
    tensors = [hb.datasets.synthetic_attention(20, 3, 4, batch=batch) for batch in range(4)]
    return [hb.head_entropy(X, causal.organization.trees, k=90) for X in tensors]
