import numpy as np
import pytest

from haarbor.collapse import effective_rank, stable_rank, token_cosine, token_residual
from haarbor.errors import DataError, ShapeError

MEASURES = {
    "composite": lambda x: token_residual(x).relative,
    "frobenius": lambda x: token_residual(x, norm="frobenius").relative,
    "stable": stable_rank,
    "effective": effective_rank,
    "cosine": token_cosine,
}
every_measure = pytest.mark.parametrize("name", MEASURES)


@every_measure
@pytest.mark.parametrize("scale", [2.0**-900, 2.0**900, 2.0**-20])
def test_no_measure_depends_on_the_scale_even_where_squares_would_overflow(rng, name, scale):
    x = rng.standard_normal((5, 4))
    assert MEASURES[name](scale * x) == MEASURES[name](x)


@every_measure
def test_no_measure_depends_on_the_order_of_the_tokens(rng, name):
    x = rng.standard_normal((6, 4))
    assert MEASURES[name](x[::-1]) == pytest.approx(MEASURES[name](x), rel=1e-12)


@every_measure
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (np.ones(3), ShapeError, "one row per token; found shape \\(3,\\)"),
        (np.ones((0, 3)), ShapeError, "one row per token"),
        ([[1.0, np.nan], [1, 2]], DataError, "must be finite"),
        ([[1.0, np.inf], [1, 2]], DataError, "must be finite"),
        (np.zeros((3, 2)), DataError, "must not all be zero"),
        ([["a"]], ShapeError, "real numbers"),
    ],
)
def test_what_is_no_matrix_of_tokens_is_refused(name, given, error, message):
    with pytest.raises(error, match=message):
        MEASURES[name](given)
