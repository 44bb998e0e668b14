"""Means over blocks of tokens: by hand, against the whole matrix, and their rows."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

torch = pytest.importorskip("torch")

from haarbor.capturing._pooled_rows import PooledRows, pooled_mask  # noqa: E402
from haarbor.store import StreamPlan, block_widths  # noqa: E402


def pooled(matrix, pool, is_token=None, step=None):
    """Means of (head, query, key) that comes in chunks of `step` rows."""
    n_heads, *sides = matrix.shape
    blocks = [-(-side // pool) for side in sides]
    sizes = StreamPlan(
        name="self", n_layers=1, n_heads=n_heads, n_queries=blocks[0], n_keys=blocks[1], pool=pool,
        pooled_from=tuple(sides),
    )  # fmt: skip
    is_token = np.ones(sides[0], dtype=bool) if is_token is None else is_token
    sums = PooledRows(sizes, n_heads, slice(0, blocks[0]))
    assert sums.tokens == slice(0, sides[0])
    step = step or sides[0]
    for begin in range(0, sides[0], step):
        queries = slice(begin, min(begin + step, sides[0]))
        for head in range(n_heads):
            chunk = torch.as_tensor(matrix[head : head + 1, queries])
            sums.add(slice(head, head + 1), queries, chunk, is_token[queries])
    return sums.means(is_token)


def test_by_hand():
    causal = np.array([[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]])
    assert pooled(causal, 2).tolist() == [[[0.5, 0.0], [0.25, 0.5]]]
    assert pooled_mask(np.tri(3, dtype=bool), 2).tolist() == [[True, False], [True, True]]


def test_padded_queries_are_left_out_even_where_they_are_no_numbers():
    weights = np.array([[[1.0, 0.0], [np.nan, np.nan]]])
    assert pooled(weights, 2, np.array([True, False])).tolist() == [[[0.5]]]
    assert pooled(weights, 2, np.array([False, False])).tolist() == [[[0.0]]]


@given(st.integers(2, 9), st.integers(1, 23), st.integers(1, 23), st.integers(1, 9), st.integers(0, 99))
def test_means_are_those_of_the_whole_matrix_and_rows_sum_to_one(pool, n_queries, n_keys, step, seed):
    rng = np.random.default_rng(seed)
    weights = rng.random((2, n_queries, n_keys)) * (rng.random((n_queries, n_keys)) < 0.6)
    weights[:, :, 0] += 0.1
    weights = (weights / weights.sum(axis=2, keepdims=True)).astype(np.float32)
    found = pooled(weights, pool, step=step)
    for i in range(found.shape[1]):
        for j in range(found.shape[2]):
            block = weights[:, i * pool : (i + 1) * pool, j * pool : (j + 1) * pool]
            np.testing.assert_allclose(found[:, i, j], block.astype(float).mean(axis=(1, 2)), rtol=1e-5)
    np.testing.assert_allclose((found * block_widths(n_keys, pool)).sum(axis=2), 1.0, rtol=1e-5)


@given(st.integers(1, 9), st.integers(1, 23), st.integers(1, 23), st.integers(0, 99))
def test_a_block_is_valid_if_an_entry_of_it_is(pool, n_queries, n_keys, seed):
    mask = np.random.default_rng(seed).random((n_queries, n_keys)) < 0.2
    found = pooled_mask(mask, pool)
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            assert found[i, j] == mask[i * pool : (i + 1) * pool, j * pool : (j + 1) * pool].any()
