import numpy as np
import pytest

from haarbor.collapse import collapse_rate
from haarbor.errors import DataError, ShapeError


def test_an_exponential_fall_is_told_from_a_doubly_exponential_one():
    layers = np.arange(8)
    exponential = collapse_rate(0.5 * 0.5**layers)
    assert exponential.singly == pytest.approx(1)
    assert exponential.factor < 1.4
    assert exponential.doubly < exponential.singly
    doubly = collapse_rate(0.9 ** (2.5**layers))
    assert doubly.factor == pytest.approx(2.5)
    assert doubly.doubly == pytest.approx(1)
    assert doubly.singly < 0.9


def test_the_line_ends_where_rounding_begins():
    found = collapse_rate([0.1, 1e-3, 1e-9, 3e-17, 2e-17, 1e-3], floor=1e-13)
    assert found.n_layers == 3
    assert found.factor == pytest.approx(3)


def test_residuals_of_one_or_more_have_no_double_logarithm_and_are_passed_over():
    assert collapse_rate([1.2, 1.0, 0.1, 1e-3, 1e-9]).n_layers == 3


def test_too_few_residuals_are_refused():
    with pytest.raises(DataError, match=r"three residuals or more .* found 2"):
        collapse_rate([0.1, 0.01])
    with pytest.raises(DataError, match="found 0"):
        collapse_rate([np.nan, 0.1, 0.01, 0.001])
    with pytest.raises(ShapeError, match="must be a row"):
        collapse_rate(np.ones((2, 2)))
