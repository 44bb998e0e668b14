import numpy as np
import pytest

import haarbor as hb
from haarbor.questionnaire._reused_emd import ReusedEmd
from haarbor.transport import FolderMeans
from tests.assertions import assert_close
from tests.samples import causal_probabilities, random_tree

AXES = ("query", "key", "head")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (1.0, 0.0), (0.4, 0.8)])
def test_reused_distances_equal_fresh_ones_through_iterations(rng, dtype, alpha, beta):
    X = causal_probabilities(rng, 11, 9, dtype)
    reused = ReusedEmd(FolderMeans(X, AXES), dict.fromkeys(AXES, (alpha, beta)), hb.CpuEngine(2))
    trees = {axis: random_tree(rng, n) for axis, n in zip(AXES, X.shape, strict=True)}
    for changed in ("head", "query", "query", "key", None, "head", "key"):
        if changed:
            trees[changed] = random_tree(rng, trees[changed].n_items, int(rng.integers(1, 5)))
        for axis in AXES:
            others = {name: tree for name, tree in trees.items() if name != axis}
            fresh = hb.tree_emd(X.astype(np.float64), others, alpha=alpha, beta=beta)
            assert_close(reused.distances(axis, others), fresh, dtype)


@pytest.mark.parametrize("shape", [(6, 5), (3, 4, 2, 5)])
def test_reuse_holds_for_any_number_of_axes(rng, shape):
    axes = ("a", "b", "c", "d")[: len(shape)]
    X = rng.normal(size=shape)
    reused = ReusedEmd(FolderMeans(X, axes), dict.fromkeys(axes, (0.3, 0.9)), hb.CpuEngine(1))
    for _ in range(3):
        trees = {axis: random_tree(rng, n) for axis, n in zip(axes, shape, strict=True)}
        for axis in axes:
            others = {name: tree for name, tree in trees.items() if name != axis}
            fresh = hb.tree_emd(X, others, axes, alpha=0.3, beta=0.9)
            assert_close(reused.distances(axis, others), fresh)


def test_single_entries_are_summed_once(rng):
    X = rng.normal(size=(5, 6, 4))

    class Counting(hb.CpuEngine):
        columns = 0

        def l1_sums(self, blocks, n_items, n_targets):
            self.columns += sum(int(block.section_ends[-1]) for block in blocks)
            return super().l1_sums(blocks, n_items, n_targets)

    engine = Counting(1)
    reused = ReusedEmd(FolderMeans(X, AXES), dict.fromkeys(AXES, (0.0, 1.0)), engine)
    trees = {"query": random_tree(rng, 5), "key": random_tree(rng, 6)}
    reused.distances("head", trees)
    first = engine.columns
    reused.distances("head", trees)
    assert engine.columns - first < first
