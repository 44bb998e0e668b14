import numpy as np
import pytest

import haarbor as hb
from haarbor.transport import FolderMeans
from tests.assertions import assert_close
from tests.samples import CHAINED, HALVES, random_tree

AXES = ("query", "key", "head")


@pytest.fixture
def tensor(rng):
    return rng.normal(size=(4, 5, 3))


@pytest.fixture
def trees(rng):
    return {"query": HALVES, "key": CHAINED, "head": random_tree(rng, 3)}


EXPONENTS = {"query": (0.5, 1.0), "key": (0.0, 0.5), "head": (1.0, 0.0)}


def test_sizes_and_outer_axes_are_those_of_the_tensor(tensor):
    means = FolderMeans(tensor, AXES)
    assert [means.n_items(axis) for axis in AXES] == [4, 5, 3]
    for axis in AXES:
        outer = means.outer_axes(axis)
        assert axis not in outer
        assert len(outer) == 1


@pytest.mark.parametrize("axis", AXES)
def test_the_ground_part_is_the_plain_l1_distance(tensor, trees, axis):
    means = FolderMeans(tensor, AXES)
    others = {name: tree for name, tree in trees.items() if name != axis}
    ground, _, _ = means.l1_sums(axis, others, EXPONENTS, hb.CpuEngine(1))
    rows = np.moveaxis(tensor, AXES.index(axis), 0).reshape(tensor.shape[AXES.index(axis)], -1)
    assert_close(ground, np.abs(rows[:, None] - rows[None]).sum(axis=2))


@pytest.mark.parametrize("axis", AXES)
def test_parts_add_up_to_the_distance(tensor, trees, axis):
    means = FolderMeans(tensor, AXES)
    others = {name: tree for name, tree in trees.items() if name != axis}
    sums = means.l1_sums(axis, others, EXPONENTS, hb.CpuEngine(1))
    expected = hb.tree_emd(
        tensor, others, alpha={a: x for a, (x, _) in EXPONENTS.items()},
        beta={a: y for a, (_, y) in EXPONENTS.items()},
    )  # fmt: skip
    assert_close(means.weighted_total(axis, sums, others, EXPONENTS), expected)


@pytest.mark.parametrize("parts", [(), ("ground",), ("raised",)])
def test_parts_left_out_are_zero_and_the_others_unchanged(tensor, trees, parts):
    means = FolderMeans(tensor, AXES)
    others = {"query": trees["query"], "key": trees["key"]}
    everything = means.l1_sums("head", others, EXPONENTS, hb.CpuEngine(1))
    some = means.l1_sums("head", others, EXPONENTS, hb.CpuEngine(1), ground_parts=parts)
    for place, part in enumerate(("ground", "raised")):
        assert (some[place] == (everything[place] if part in parts else 0)).all()
    assert_close(some[2], everything[2])


def test_a_tensor_stored_head_first_is_not_copied(rng):
    stored = rng.normal(size=(3, 4, 5))
    means = FolderMeans(np.moveaxis(stored, 0, 2), AXES)
    blocks = []

    class Keep:
        name = "keep"

        def l1_sums(self, given, n_items, n_targets):
            blocks.extend(given)
            return np.zeros((n_targets, n_items, n_items))

    means.l1_sums("query", {"key": CHAINED, "head": random_tree(rng, 3)}, EXPONENTS, Keep())
    # Sums over folders of several heads are new arrays; single heads are read where they are.
    single = [block for block in blocks if block.ground_target == 0]
    assert single
    assert all(np.shares_memory(block.flat, stored) for block in single)


@pytest.mark.parametrize("axis", AXES)
def test_blocks_keep_the_promises_of_the_interface(rng, axis):
    tensor = rng.normal(size=(9, 11, 10)).astype(np.float32)
    means = FolderMeans(tensor, AXES)
    trees = {name: random_tree(rng, n) for name, n in zip(AXES, tensor.shape, strict=True) if name != axis}
    n_items = means.n_items(axis)
    widths = []

    class Check:
        name = "check"

        def l1_sums(self, blocks, n, n_targets):
            assert n == n_items
            for block in blocks:
                ends = block.section_ends
                assert block.dtype == np.float32
                assert (np.diff(ends) > 0).all()
                assert ends.size == block.section_targets.size
                assert set(block.section_targets.tolist()) <= set(range(n_targets))
                out = np.full((n, ends[-1]), np.nan, np.float32)
                block.write_means(out)
                assert np.isfinite(out).all(), "every column is written"
                widths.append(int(ends[-1]))
            return np.zeros((n_targets, n, n))

    means.l1_sums(axis, trees, EXPONENTS, Check())
    assert widths
