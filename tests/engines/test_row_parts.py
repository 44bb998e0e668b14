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
    parts = row_parts(n_items, n_parts)
    engines = [RowsEngine(strips, 1) for strips in parts]
    rows = [engine.rows_of(engine.l1_sums(blocks, n_items, 2)) for engine in engines]
    assert joined_rows(parts, rows, 2, n_items).tobytes() == whole.tobytes()


@pytest.mark.parametrize("n_items", [1, 5, 64, 1000])
@pytest.mark.parametrize("n_parts", [1, 2, 3, 100])
def test_parts_cover_every_row_once_and_are_alike(n_items, n_parts):
    parts = row_parts(n_items, n_parts)
    strips = [strip for part in parts for strip in part]
    assert sorted(row for strip in strips for row in range(*strip)) == list(range(n_items))
    assert all(first % 4 == 0 and last > first for first, last in strips)
    if n_items == 1000 and n_parts <= 3:
        # Pairs of rows, all as long as the other; and where the later of two is the shorter, or the longer.
        for length in (lambda i, j: 1, lambda i, j: n_items - j, lambda i, j: i):
            work = [
                sum(length(i, (i + n_items) // 2) * (n_items - i) for strip in part for i in range(*strip))
                for part in parts
            ]
            assert max(work) < 1.05 * min(work)
