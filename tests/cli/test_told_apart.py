"""Heads that differ enough to be ranked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.cli._told_apart import are_told_apart, together_text


@pytest.mark.parametrize(
    ("least", "most", "apart"),
    [(99.0, 100.0, True), (99.1, 100.0, False), (0.0, 0.0, False), (0.0, 1e-9, True), (-1.0, 1.0, True)],
)
def test_by_hand(least, most, apart):
    assert are_told_apart(least, most) is apart


@given(st.floats(0.001, 1e6), st.floats(1.0, 2.0), st.integers(-20, 20))
def test_the_unit_of_the_entropy_does_not_matter(least, ratio, power):
    assert are_told_apart(least, ratio * least) == are_told_apart(
        least * 2.0**power, ratio * least * 2.0**power
    )


def test_the_sentence_says_the_range():
    assert "between 12.14 and 12.17, so no head" in together_text(12.138, 12.171)
