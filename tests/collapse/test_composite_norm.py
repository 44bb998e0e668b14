import numpy as np
import pytest
from hypothesis import given

from haarbor.collapse import composite_norm
from haarbor.errors import ShapeError
from tests.collapse.token_matrices import TOKENS
from tests.reference.collapse import composite


@given(TOKENS)
def test_it_agrees_with_loops(x):
    assert composite_norm(x) == pytest.approx(composite(x.tolist()), rel=1e-12)


@given(TOKENS)
def test_it_is_submultiplicative_and_the_same_for_the_transpose(x):
    assert composite_norm(x @ x.T) <= composite_norm(x) ** 2 * (1 + 1e-12)
    assert composite_norm(x.T) == pytest.approx(composite_norm(x), rel=1e-12)
    assert composite_norm(-3 * x) == pytest.approx(3 * composite_norm(x), rel=1e-12)


def test_large_entries_do_not_overflow():
    assert composite_norm(np.full((2, 2), 1e300)) == pytest.approx(2e300)


@pytest.mark.parametrize("given", [np.ones(3), np.ones((2, 0)), np.ones((2, 2, 2))])
def test_only_matrices_have_one(given):
    with pytest.raises(ShapeError, match="two axes"):
        composite_norm(given)
