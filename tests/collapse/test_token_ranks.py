import math

import numpy as np
import pytest
from hypothesis import given

from haarbor.collapse import effective_rank, stable_rank
from tests.collapse.token_matrices import TOKENS


@given(TOKENS)
def test_both_agree_with_the_eigenvalues_of_the_gram_matrix(x):
    squares = [max(value, 0.0) for value in np.linalg.eigvalsh(x @ x.T)]
    squares = [value if value > 1e-12 * max(squares) else 0.0 for value in squares]
    roots = [math.sqrt(value) for value in squares]
    shares = [root / sum(roots) for root in roots]
    entropy = -sum(share * math.log(share) for share in shares if share > 0)
    assert stable_rank(x) == pytest.approx(sum(squares) / max(squares), rel=1e-9)
    assert effective_rank(x) == pytest.approx(math.exp(entropy), rel=1e-4)


@given(TOKENS)
def test_both_lie_between_one_and_the_rank(x):
    rank = np.linalg.matrix_rank(x)
    assert 1 - 1e-12 <= stable_rank(x) <= rank + 1e-9
    assert 1 - 1e-12 <= effective_rank(x) <= rank + 1e-6


def test_one_direction_is_rank_one(rng):
    x = np.outer(rng.standard_normal(7), rng.standard_normal(5))
    assert stable_rank(x) == pytest.approx(1, abs=1e-12)
    assert effective_rank(x) == pytest.approx(1, abs=1e-12)


def test_hand_value_of_the_effective_rank():
    # Shares 3/4 and 1/4.
    entropy = 0.75 * math.log(4 / 3) + 0.25 * math.log(4)
    assert effective_rank(np.diag([3.0, 1.0])) == pytest.approx(math.exp(entropy), rel=1e-12)


def test_neither_changes_under_a_rotation(rng):
    x = rng.standard_normal((6, 5))
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    assert stable_rank(x @ turn) == pytest.approx(stable_rank(x), rel=1e-12)
    assert effective_rank(x @ turn) == pytest.approx(effective_rank(x), rel=1e-12)
