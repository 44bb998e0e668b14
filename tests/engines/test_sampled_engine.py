"""Distances from some folders: near the exact ones, by as much as is told, and the same for any threads."""

import numpy as np
import pytest

import haarbor as hb
from haarbor.engines import CpuEngine, SampledEngine
from tests.samples import causal_probabilities, tree_of_kind

RNG = np.random.default_rng(0)
X = causal_probabilities(RNG, 60, 3, np.float32)
TREES = {"key": tree_of_kind("flexible", 60, RNG), "head": tree_of_kind("dyadic", 3, RNG)}
EXACT = hb.tree_emd(X, TREES)
ABOVE = np.triu_indices(60, 1)


def estimated(n_folders, seed=0, threads=1):
    engine = SampledEngine(CpuEngine(threads), n_folders, seed)
    return hb.tree_emd(X, TREES, engine=engine), engine


def test_all_folders_give_the_exact_distances():
    found, engine = estimated(10**6)
    np.testing.assert_allclose(found, EXACT, rtol=1e-6)
    assert engine.relative_error == 0


@pytest.mark.parametrize("n_folders", [60, 200])
def test_distances_are_right_on_average_and_off_by_what_is_told(n_folders):
    drawn = [estimated(n_folders, seed) for seed in range(60)]
    relative = np.stack([(found - EXACT)[ABOVE] / EXACT[ABOVE] for found, _ in drawn])
    told = np.median([engine.relative_error for _, engine in drawn])
    off = np.sqrt((relative**2).mean())
    assert abs(relative.mean()) < 5 * relative.mean(axis=1).std() / np.sqrt(60)
    # What is told is that of the worst of three sums of which a distance is made.
    assert off < 1.2 * told
    assert told < 6 * off


def test_more_folders_are_nearer():
    errors = [np.abs(estimated(n)[0] - EXACT).mean() for n in (40, 160, 300)]
    assert errors[0] > 1.5 * errors[1] > 2 * errors[2]


def test_distances_are_symmetric_and_equal_rows_are_at_zero():
    found, engine = estimated(100)
    np.testing.assert_array_equal(found, found.T)
    assert not found.diagonal().any()
    assert engine.name == "cpu"
    twice = np.concatenate([X[:5], X[:5]])
    near = hb.tree_emd(twice, TREES, engine=SampledEngine(CpuEngine(1), 50))
    assert not near[np.arange(5), np.arange(5, 10)].any()


def test_threads_and_calls_before_do_not_matter():
    one, _ = estimated(100, threads=1)
    two, _ = estimated(100, threads=2)
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, estimated(100, seed=1)[0])
