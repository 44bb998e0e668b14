"""Matrices of tokens for the laws."""

from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

ENTRIES = st.floats(-8, 8, width=16).map(lambda value: round(value, 2))
TOKENS = arrays(
    "float64", array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=ENTRIES
).filter(lambda x: abs(x).max() > 0)
