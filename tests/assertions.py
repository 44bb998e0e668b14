"""Checks that several tests share; tolerances come from here and nowhere else."""

import numpy as np

from haarbor import PartitionTree


def tol(dtype):
    """Relative error allowed in a result computed in `dtype`."""
    return {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}[np.dtype(dtype)]


def assert_close(actual, expected, dtype=np.float64, *, scale=None):
    """Within `tol(dtype)` of the largest expected entry, or of `scale` where entries may cancel."""
    actual, expected = np.asarray(actual), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape
    if expected.size == 0:
        return
    scale = np.abs(expected).max() if scale is None else scale
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol(dtype) * (scale if scale > 0 else 1.0))


def assert_same_tree(tree, levels):
    """`tree` has the partitions in `levels`, whatever numbers they use."""
    np.testing.assert_array_equal(tree.levels, PartitionTree(np.asarray(levels)).levels)


def assert_same_trees(one, two):
    """Two mappings of axis names to trees agree."""
    assert set(one) == set(two)
    for axis in one:
        assert one[axis] == two[axis], f"the trees of {axis} differ"
