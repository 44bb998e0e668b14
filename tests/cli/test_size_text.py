"""Sizes in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.cli._size_text import size_text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"),
     (1_000_000, "1.0 MB"), (12_345_678, "12.3 MB"), (1_000_000_000, "1.0 GB")],
)  # fmt: skip
def test_by_hand(n_bytes, text):
    assert size_text(n_bytes) == text


@given(st.integers(1, 10**12))
def test_the_text_is_within_five_percent_of_the_number(n_bytes):
    number, unit = size_text(n_bytes).split()
    shown = float(number) * {"bytes": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
    assert abs(shown - n_bytes) <= max(0.05 * n_bytes, 500 if n_bytes < 10_000 else 0)
