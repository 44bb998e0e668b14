import numpy as np
import pytest
from hypothesis import given

from haarbor.collapse import token_cosine
from haarbor.errors import DataError, ShapeError
from tests.collapse.token_matrices import TOKENS


@given(TOKENS.filter(lambda x: np.abs(x).max(axis=1).all()))
def test_it_agrees_with_the_pairs_one_by_one(x):
    found = [
        one @ two / (np.linalg.norm(one) * np.linalg.norm(two))
        for i, one in enumerate(x)
        for j, two in enumerate(x)
        if i != j
    ]
    assert token_cosine(x) == pytest.approx(np.mean(found), abs=1e-12)


def test_opposite_tokens():
    assert token_cosine([[1.0, 1.0], [-2.0, -2.0]]) == pytest.approx(-1, abs=1e-12)


def test_a_very_small_token_counts_like_any_other():
    assert token_cosine([[1.0, 0.0], [1e-200, 0.0]]) == pytest.approx(1, abs=1e-12)


def test_a_token_without_direction_and_a_single_token_are_refused():
    with pytest.raises(DataError, match="token 1 is zero"):
        token_cosine([[1.0, 2.0], [0.0, 0.0]])
    with pytest.raises(ShapeError, match="two tokens or more"):
        token_cosine([[1.0, 2.0]])
