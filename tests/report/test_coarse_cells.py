"""Matrices that are shown by the means of square blocks."""

import pytest

from haarbor.report._coarse_cells import coarse_matrix


def test_means_of_blocks_are_those_of_loops(rng):
    values = rng.random((7, 5))
    found = coarse_matrix(values, 3)
    for i in range(3):
        for j in range(2):
            block = values[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
            assert found[i, j] == pytest.approx(block.mean())
