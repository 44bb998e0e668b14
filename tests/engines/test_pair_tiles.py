import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.engines._pair_tiles import LONGEST_RUN, SIDE, pair_tiles

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


@pytest.mark.parametrize(
    ("n_items", "n_tiles", "pitch"), [(1, 1, 64), (64, 1, 64), (65, 3, 128), (1024, 136, 1024)]
)
def test_squares_on_and_above_the_diagonal_are_counted(n_items, n_tiles, pitch):
    tiles = pair_tiles(n_items, SINGLE, 132)
    assert (tiles.n_tiles, tiles.pitch) == (n_tiles, pitch)


def test_sums_in_double_precision_take_twice_the_registers():
    assert (
        pair_tiles(9, SINGLE, 132).blocks_per_processor == 2 * pair_tiles(9, DOUBLE, 132).blocks_per_processor
    )


@given(
    n_items=st.integers(1, 30_000),
    n_features=st.integers(0, 3_000_000),
    n_processors=st.integers(1, 200),
    dtype=st.sampled_from([SINGLE, DOUBLE]),
)
def test_every_feature_is_summed_once_in_runs_that_keep_the_error_bound(
    n_items, n_features, n_processors, dtype
):
    tiles = pair_tiles(n_items, dtype, n_processors)
    reached = 0
    for first, last, n_splits, per_split in tiles.launches(n_features):
        assert first == reached < last
        # The splits cover the part, none of them is empty, and a stage never straddles two of them.
        assert (n_splits - 1) * per_split < last - first <= n_splits * per_split
        assert per_split <= LONGEST_RUN
        assert per_split % 16 == 0
        assert n_splits == 1 or n_splits * tiles.n_tiles * SIDE**2 * tiles.itemsize <= 256 << 20
        reached = last
    assert reached == n_features


def test_large_work_fills_the_device():
    for n_items, n_features in [(256, 82_000), (1024, 1_000_000), (2048, 60_000)]:
        tiles = pair_tiles(n_items, SINGLE, 132)
        slots = 132 * tiles.blocks_per_processor
        for first, last, n_splits, per_split in tiles.launches(n_features):
            waves = -(-n_splits * tiles.n_tiles // slots)
            # Work of all blocks over what the device could have done in the time of these waves.
            assert (last - first) * tiles.n_tiles > 0.9 * waves * slots * per_split
