"""Inputs and results of the published program, from ../shared/cases (or $HAARBOR_SHARED/cases)."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import haarbor as hb
from tests.assertions import assert_close, assert_same_tree
from tests.engines.numpy_device import numpy_gpu

SHARED = Path(os.environ.get("HAARBOR_SHARED", Path(__file__).parents[2].parent / "shared"))
CASES = sorted((SHARED / "cases").glob("*.npz"))

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not (SHARED / "cases").is_dir(), reason=f"there is no folder {SHARED / 'cases'}"),
]
each_case = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
each_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@cache
def case(path):
    with np.load(path) as arrays:
        return dict(arrays)


def axes_of(found):
    return ("query", "key", "head")[: found["X"].ndim]


@cache
def organized(path, dtype, engine="cpu"):
    found = case(path)
    axes = axes_of(found)
    return hb.organize(
        found["X"].astype(dtype), axes, n_iterations=int(found["iterations"]),
        initial=str(found["initial"]), tree_constant=float(found["tree_constant"]), refine="published",
        alpha=dict(zip(axes, found["alpha"].tolist(), strict=True)),
        beta=dict(zip(axes, found["beta"].tolist(), strict=True)), engine=engine,
    )  # fmt: skip


def trees_of(found, axis):
    names = [f"tree_{axis}_{i}" for i in range(20)]
    return [found[name] for name in names if name in found]


def test_there_are_cases():
    assert CASES, f"{SHARED / 'cases'} holds no .npz file"


@each_dtype
@each_case
def test_every_tree_of_every_iteration_is_the_published_one(path, dtype):
    found, org = case(path), organized(path, dtype)
    for axis in axes_of(found):
        expected = trees_of(found, axis)
        history = list(org.history[axis])
        if org.converged:
            history += history[-1:] * (len(expected) - len(history))
        assert len(history) == len(expected)
        for tree, levels in zip(history, expected, strict=True):
            assert_same_tree(tree, levels)


@each_dtype
@each_case
@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(numpy_gpu, id="numpy", marks=pytest.mark.slow),
        pytest.param(hb.GpuEngine, id="cuda", marks=pytest.mark.gpu),
    ],
)
def test_the_gpu_engine_builds_the_same_trees(path, dtype, engine):
    cpu, gpu = organized(path, dtype), organized(path, dtype, engine())
    assert gpu.settings.engine == "gpu"
    for axis in axes_of(case(path)):
        assert gpu.history[axis] == cpu.history[axis]
        assert_close(gpu.affinities[axis], cpu.affinities[axis], dtype)


@each_dtype
@each_case
def test_affinities_are_the_published_ones(path, dtype):
    found, org = case(path), organized(path, dtype)
    compared = 0
    for axis in axes_of(found):
        for name, mine in (("affinity", org.affinities), ("init_affinity", org.initial_affinities)):
            if f"{name}_{axis}" in found:
                assert_close(mine[axis], found[f"{name}_{axis}"], dtype)
                compared += 1
    assert compared == sum("affinity" in name for name in found)


@each_dtype
@each_case
def test_head_distances_over_the_final_trees_are_the_published_ones(path, dtype):
    found = case(path)
    axes = axes_of(found)
    if len(axes) == 2:
        assert "emd_head_final" not in found
        return
    trees = {axis: hb.PartitionTree(trees_of(found, axis)[-1]) for axis in ("query", "key")}
    emd = hb.tree_emd(
        found["X"].astype(dtype), trees, axes,
        alpha=dict(zip(axes, found["alpha"].tolist(), strict=True)),
        beta=dict(zip(axes, found["beta"].tolist(), strict=True)),
    )  # fmt: skip
    assert_close(emd, found["emd_head_final"], dtype)


@each_case
def test_folder_energies_are_sums_of_squared_haar_coefficients(path):
    found = case(path)
    axes = axes_of(found)
    for place, axis in enumerate(axes):
        tree = hb.PartitionTree(trees_of(found, axis)[-1])
        coefficients = np.moveaxis(hb.haar_transform(found["X"], {axis: tree}, axes), place, 0)
        energies = (coefficients.reshape(tree.n_items, -1) ** 2).sum(axis=1)
        basis, system = hb.haar_basis(tree), hb.haar_system(tree)
        mine = {}
        for j in range(1, tree.n_items):
            # A folder is known by its smallest item and its size; the function lives on part of it.
            item = int(np.argmax(np.abs(basis[j]) > 1e-9))
            level = int(system.levels[j])
            folder = tree.folders(level)[tree.levels[level, item]]
            assert folder.size == system.folder_sizes[j]
            key = (level, int(folder[0]), int(folder.size))
            mine[key] = mine.get(key, 0.0) + energies[j]
        theirs = {tuple(map(int, row[:3])): float(row[3]) for row in found[f"folder_energy_{axis}"]}
        assert set(mine) <= set(theirs)
        # A folder that is carried down whole, or holds one item, has no functions and no energy.
        expected = list(theirs.values())
        assert_close([mine.get(key, 0.0) for key in theirs], expected)
        assert len(mine) > 3
