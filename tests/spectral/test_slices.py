import numpy as np
import pytest

from haarbor.spectral import _slices as slices
from haarbor.spectral._slices import slice_blocks


@pytest.mark.parametrize("shape", [(5,), (4, 3), (3, 4, 2), (2, 3, 4, 2)])
@pytest.mark.parametrize("block_bytes", [1, 200, 1 << 22])
def test_blocks_hold_every_entry_of_a_slice_once(rng, monkeypatch, shape, block_bytes):
    monkeypatch.setattr(slices, "_BLOCK_BYTES", block_bytes)
    X = rng.permutation(int(np.prod(shape))).reshape(shape).astype(float)
    for axis in range(len(shape)):
        blocks = [form() for form in slice_blocks(X, axis)]
        rows = np.concatenate([b.reshape(shape[axis], -1) for b in blocks], axis=1)
        expected = np.moveaxis(X, axis, 0).reshape(shape[axis], -1)
        assert np.array_equal(np.sort(rows, axis=1), np.sort(expected, axis=1))
        # The same columns in every slice.
        assert {tuple(c) for c in rows.T} == {tuple(c) for c in expected.T}
        assert all(b.flags.c_contiguous and not np.shares_memory(b, X) for b in blocks)


def test_small_blocks_are_many(monkeypatch):
    monkeypatch.setattr(slices, "_BLOCK_BYTES", 8 * 3 * 5)
    assert len(slice_blocks(np.ones((3, 4, 5)), 0)) == 4
