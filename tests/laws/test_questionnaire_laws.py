import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

import haarbor as hb
from haarbor.testing import affinities, attention_samples
from tests.assertions import assert_close, assert_same_trees
from tests.samples import random_tree

AXES = ("query", "key", "head")
seeds = st.integers(0, 2**32 - 1)
samples = attention_samples(min_tokens=2, max_tokens=9, min_heads=2, max_heads=7, dtype="float64")
# No two slices alike, so that no bandwidth or median is zero: what counts as 1 then does not scale.
distinct = attention_samples(min_tokens=3, min_heads=3, square=True, dtype="float64")
# Nor any cosine below zero: the floor makes ties, which rounding would have to break.
distinct_probabilities = attention_samples(
    min_tokens=3, min_heads=3, max_heads=7, square=True, content="probabilities", dtype="float64"
)
untied = attention_samples(min_tokens=3, min_heads=3, causal=False, content="probabilities", dtype="float64")


def moved_tree(tree, order):
    return hb.PartitionTree(tree.levels[:, order])


class PdistEngine:
    """What a user might write: scipy's distances, block by block."""

    name = "pdist"

    def l1_sums(self, blocks, n_items, n_targets):
        total = np.zeros((n_targets, n_items, n_items))
        for block in blocks:
            rows = np.empty((n_items, block.section_ends[-1]), block.dtype)
            block.write_means(rows)
            begin = 0
            for end, target in zip(block.section_ends, block.section_targets, strict=True):
                part = rows[:, begin:end].astype(np.float64)
                total[target] += squareform(pdist(part, "cityblock"), checks=False) if n_items > 1 else 0.0
                begin = end
        return total


@pytest.mark.slow
@given(distinct_probabilities)
def test_an_engine_of_ones_own_gives_the_same_trees(sample):
    own, usual = (hb.organize(sample.tensor, n_iterations=2, engine=e) for e in (PdistEngine(), "cpu"))
    assert_same_trees(own.trees, usual.trees)
    assert own.settings.engine == "pdist"
    for axis in AXES:
        assert_close(own.affinities[axis], usual.affinities[axis])


@settings(max_examples=20)
@given(attention_samples(min_heads=2), st.sampled_from([2, 3, 5]), st.sampled_from(["cosine", "gaussian"]))
def test_the_number_of_threads_changes_no_bit(sample, threads, initial):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hb.AffinityWarning)
        one, many = (
            hb.organize(sample.tensor, n_iterations=2, initial=initial, engine=hb.CpuEngine(n))
            for n in (1, threads)
        )
    for axis in AXES:
        assert one.history[axis] == many.history[axis]
        assert one.affinities[axis].tobytes() == many.affinities[axis].tobytes()
    for axis in one.initial_affinities:
        assert one.initial_affinities[axis].tobytes() == many.initial_affinities[axis].tobytes()


@given(distinct, st.integers(-40, 40), st.sampled_from(["cosine", "gaussian"]))
def test_scaling_the_tensor_changes_no_tree(sample, power, initial):
    # A power of two scales without rounding, so even the bits of the affinities stay.
    one, scaled = (
        hb.organize(factor * sample.tensor, n_iterations=2, initial=initial) for factor in (1.0, 2.0**power)
    )
    assert one.history == scaled.history
    for axis in AXES:
        assert one.affinities[axis].tobytes() == scaled.affinities[axis].tobytes()


@given(untied, st.floats(0.01, 100))
def test_scaling_by_any_factor_changes_no_affinity_beyond_rounding(sample, factor):
    one, scaled = (hb.organize(f * sample.tensor, n_iterations=1) for f in (1.0, factor))
    assert_close(scaled.affinities["head"], one.affinities["head"])
    for axis in ("query", "key"):
        assert_close(scaled.initial_affinities[axis], one.initial_affinities[axis])


@given(untied, seeds)
def test_permuting_items_permutes_trees_and_affinities(sample, seed):
    X = sample.tensor
    rng = np.random.default_rng(seed)
    orders = {axis: rng.permutation(n) for axis, n in zip(AXES, X.shape, strict=True)}
    moved = hb.organize(X[np.ix_(*orders.values())], n_iterations=1)
    found = hb.organize(X, n_iterations=1)
    for axis, order in orders.items():
        for tree, other in zip(found.history[axis], moved.history[axis], strict=True):
            assert other == moved_tree(tree, order)
        assert_close(moved.affinities[axis], found.affinities[axis][np.ix_(order, order)])


@pytest.mark.slow
@given(distinct_probabilities, seeds)
def test_the_order_of_heads_does_not_matter(sample, seed):
    X = sample.tensor
    order = np.random.default_rng(seed).permutation(X.shape[2])
    found, moved = hb.organize(X, n_iterations=2), hb.organize(X[:, :, order], n_iterations=2)
    for axis in ("query", "key"):
        assert moved.history[axis] == found.history[axis]
        assert_close(moved.affinities[axis], found.affinities[axis])
    for tree, other in zip(found.history["head"], moved.history["head"], strict=True):
        assert other == moved_tree(tree, order)


@given(affinities(min_items=3), seeds)
def test_embeddings_follow_a_permutation_up_to_sign(affinity, seed):
    order = np.random.default_rng(seed).permutation(affinity.shape[0])
    found = hb.diffusion_map(affinity, dimensions=2)
    moved = hb.diffusion_map(affinity[np.ix_(order, order)], dimensions=2)
    assert_close(moved.eigenvalues, found.eigenvalues)
    values = hb.markov_spectrum(affinity, min(4, affinity.shape[0])).eigenvalues
    for j in range(2):
        # Coordinates of nearly equal eigenvalues may turn into each other.
        near = [abs(values[j + 1] - other) for i, other in enumerate(values) if i != j + 1]
        if min(near) < 1e-2 or values[j + 1] < 1e-2:
            continue
        expected = found.coordinates[order, j]
        sign = np.sign(expected @ moved.coordinates[:, j])
        np.testing.assert_allclose(sign * moved.coordinates[:, j], expected, atol=1e-10)


@given(affinities(min_items=2), seeds, st.sampled_from(["flexible", "binary"]))
def test_trees_follow_a_permutation(affinity, seed, kind):
    order = np.random.default_rng(seed).permutation(affinity.shape[0])
    found = hb.build_tree(affinity, tree=kind)
    assert hb.build_tree(affinity[np.ix_(order, order)], tree=kind) == moved_tree(found, order)


@given(affinities(max_components=3, max_items=20), st.sampled_from([0.2, 1.0, 5.0]))
def test_flexible_trees_join_something_on_every_level(affinity, constant):
    tree = hb.build_tree(affinity, tree_constant=constant)
    per_level = np.diff(tree.level_offsets)
    assert (np.diff(per_level) > 0).all()
    assert per_level[0] == 1


@given(affinities(max_components=3))
def test_spectra_are_those_of_a_markov_chain(affinity):
    spectrum = hb.markov_spectrum(affinity)
    assert spectrum.eigenvalues[0] == 1
    assert (spectrum.eigenvectors[:, 0] == 1).all()
    assert (np.diff(spectrum.eigenvalues) <= 1e-12).all()
    assert (spectrum.eigenvalues <= 1 + 1e-12).all()


@settings(max_examples=15)
@given(samples, st.sampled_from(["latest", "published"]))
def test_the_loop_is_deterministic(sample, refine):
    one, two = (hb.organize(sample.tensor, n_iterations=2, refine=refine) for _ in range(2))
    assert one.history == two.history
    assert all(one.affinities[axis].tobytes() == two.affinities[axis].tobytes() for axis in AXES)


@given(attention_samples(min_heads=2, dtype="float32"), seeds)
def test_float32_distances_are_within_rounding_of_float64(sample, seed):
    # Rounding is relative to the data, not to how little they differ: so beside a head of zeros.
    X = np.concatenate([sample.tensor, np.zeros_like(sample.tensor[:, :, :1])], axis=2)
    rng = np.random.default_rng(seed)
    trees = {"query": random_tree(rng, X.shape[0]), "key": random_tree(rng, X.shape[1])}
    double = hb.tree_emd(X.astype(np.float64), trees)
    assert_close(hb.tree_emd(X, trees), double, np.float32, scale=double[-1].max())
    assert_close(
        hb.cosine_affinity(X[:, :, :-1], 2), hb.cosine_affinity(X[:, :, :-1].astype(float), 2), np.float32
    )
