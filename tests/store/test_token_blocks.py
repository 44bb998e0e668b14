"""Blocks of neighbouring tokens cover every token once."""

import hypothesis.strategies as st
from hypothesis import given

from haarbor.store import block_labels, block_widths


@given(st.integers(1, 200), st.integers(1, 60))
def test_blocks_cover_every_token_once_and_only_the_last_is_shorter(n_tokens, pool):
    widths = block_widths(n_tokens, pool)
    assert widths.sum() == n_tokens
    assert (widths[:-1] == pool).all()
    assert 1 <= widths[-1] <= pool
    named = []
    for label in block_labels(n_tokens, pool):
        first, _, last = label.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == list(range(n_tokens))
