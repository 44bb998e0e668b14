import numpy as np
import pytest

import haarbor as hb
from haarbor.engines import RowsEngine, joined_rows, row_parts


class Block:
    """Two sections of given rows."""

    def __init__(self, rows):
        self.rows = rows
        self.dtype = rows.dtype
        self.section_ends = np.array([16, rows.shape[1]])
        self.section_targets = np.array([0, 1])

    def write_means(self, out):
        out[:] = self.rows


@pytest.mark.parametrize("n_items", [1, 3, 4, 90, 600])
@pytest.mark.parametrize("n_blocks", [1, 5])
@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_parts_of_several_machines_make_the_same_bits(rng, n_items, n_blocks, n_parts):
    blocks = [Block(rng.normal(size=(n_items, 48)).astype(np.float32)) for _ in range(n_blocks)]
    whole = hb.CpuEngine(2).l1_sums(blocks, n_items, 2)
    parts = [
        RowsEngine(rows, 1).l1_sums(blocks, n_items, 2)[:, slice(*rows)]
        for rows in row_parts(n_items, n_parts)
    ]
    assert joined_rows(parts, n_items).tobytes() == whole.tobytes()


@pytest.mark.parametrize("n_items", [1, 5, 64, 1000])
@pytest.mark.parametrize("n_parts", [1, 2, 3, 100])
def test_parts_cover_every_row_once_and_are_alike(n_items, n_parts):
    parts = row_parts(n_items, n_parts)
    assert [row for part in parts for row in range(*part)] == list(range(n_items))
    assert all(first % 4 == 0 and last > first for first, last in parts)
    if n_items == 1000 and n_parts <= 3:
        pairs = [sum(n_items - row for row in range(*part)) for part in parts]
        assert max(pairs) < 1.02 * min(pairs)
