import numpy as np
import pytest

from haarbor.transport._folder_features import raised_folders
from haarbor.transport._matrix_block import MatrixBlock
from tests.assertions import assert_close
from tests.samples import random_tree


def written(block):
    out = np.full((block.items.shape[0], int(block.section_ends[-1])), np.nan, block.dtype)
    block.write_means(out)
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_without_folders_the_entries_themselves_are_written(rng, dtype):
    items = rng.normal(size=(3, 21)).astype(dtype)
    block = MatrixBlock(items=items, raised=None, target=0)
    assert block.dtype == dtype
    assert block.section_ends.tolist() == [32]
    assert block.section_targets.tolist() == [0]
    out = written(block)
    assert (out[:, :21] == items).all()
    assert (out[:, 21:] == 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("alpha_beta", [(0.0, 1.0), (1.0, 0.0), (0.5, 0.5)])
def test_folders_are_weighted_means(rng, dtype, alpha_beta):
    tree = random_tree(rng, 21)
    items = rng.normal(size=(4, 21)).astype(dtype)
    raised = raised_folders(tree, *alpha_beta)
    block = MatrixBlock(items=items, raised=raised, target=2)
    assert block.section_ends.tolist() == [-(-raised.n_folders // 16) * 16]
    assert block.section_targets.tolist() == [2]
    weights = tree.pruned.raised_weights(*alpha_beta)
    expected = [
        weights[folder] * items[:, tree.pruned.members(folder)].astype(float).mean(axis=1)
        for folder in np.flatnonzero(weights)
    ]
    out = written(block)
    assert (out[:, raised.n_folders :] == 0).all()
    # In any order of the folders.
    found = out[:, : raised.n_folders]
    order = np.lexsort(found), np.lexsort(np.transpose(expected))
    assert_close(found[:, np.lexsort(found)], np.transpose(expected)[:, order[1]], dtype)


def test_a_tree_without_raised_folders_has_no_columns():
    from haarbor import PartitionTree

    one = raised_folders(PartitionTree([[0]]), 0.0, 1.0)
    block = MatrixBlock(items=np.ones((2, 1)), raised=one, target=2)
    assert written(block).shape == (2, int(block.section_ends[-1]))
