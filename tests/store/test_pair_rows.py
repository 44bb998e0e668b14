"""The union of boolean chunks, packed or not."""

import numpy as np
import pytest

from haarbor.store import PairRows, _pair_rows


@pytest.mark.parametrize("packed_from", [0, 1 << 20])
def test_chunks_are_the_union_of_what_was_added(packed_from, monkeypatch):
    monkeypatch.setattr(_pair_rows, "_PACKED_FROM", packed_from)
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 7, 13)) < 0.3
    rows = PairRows(13)
    for begin, end in ((0, 5), (5, 7)):
        assert begin not in rows
        rows.add(begin, one[begin:end])
        rows.add(begin, other[begin:end])
        np.testing.assert_array_equal(rows.chunk(begin), (one | other)[begin:end])


def test_a_large_mask_takes_little_memory():
    rows = PairRows(2048)
    rows.add(0, np.tri(1024, 2048, dtype=bool))
    assert isinstance(rows._chunks[0], bytes)
    assert len(rows._chunks[0]) < 1024 * 2048 / 64
    np.testing.assert_array_equal(rows.chunk(0), np.tri(1024, 2048, dtype=bool))


def test_what_is_added_may_be_changed_afterwards():
    rows, given = PairRows(2), np.zeros((1, 2), dtype=bool)
    rows.add(0, given)
    given[:] = True
    assert not rows.chunk(0).any()
