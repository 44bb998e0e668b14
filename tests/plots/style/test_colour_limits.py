import numpy as np
import pytest
from matplotlib.colors import LogNorm, Normalize

from haarbor.errors import DataError
from haarbor.plots.style import extend_of, robust_norm


def test_limits_are_quantiles_of_what_is_finite():
    norm = robust_norm(np.array([np.nan, 0.0, 1.0, 2.0, 3.0, 4.0, np.inf]), (0.25, 0.75))
    assert (norm.vmin, norm.vmax) == (1.0, 3.0)
    logarithmic = robust_norm(np.array([0.0, 1.0, 10.0, 100.0]), (0.0, 1.0), "log")
    assert isinstance(logarithmic, LogNorm)
    assert (logarithmic.vmin, logarithmic.vmax) == (1.0, 100.0)


def test_equal_quantiles_widen_to_all_values_and_a_single_value_gets_room():
    outlier = np.array([1.0] * 99 + [5.0])
    norm = robust_norm(outlier, (0.01, 0.9))
    assert (norm.vmin, norm.vmax) == (1.0, 5.0)
    for value, scale, limits in ((2.0, "linear", (1.0, 3.0)), (2.0, "log", (1.0, 4.0))):
        norm = robust_norm(np.full(3, value), (0.01, 0.99), scale)
        assert (norm.vmin, norm.vmax) == limits


def test_nothing_to_show_is_refused():
    with pytest.raises(DataError, match="every entry is masked, NaN or zero"):
        robust_norm(np.full(3, np.nan), (0.0, 1.0))
    with pytest.raises(DataError, match="every entry is masked, NaN or zero"):
        robust_norm(np.zeros(3), (0.0, 1.0), "log")


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.0, 1.0], "neither"), ([-1.0, 1.0], "min"), ([0.5, 2.0, np.nan], "max"), ([-1.0, 2.0], "both")],
)
def test_a_colour_bar_has_an_arrow_where_values_lie_beyond_it(values, expected):
    assert extend_of(np.array(values), Normalize(0.0, 1.0)) == expected


def test_zeros_lie_on_no_side_of_a_logarithmic_bar():
    assert extend_of(np.array([0.0, 1.0, 2.0]), LogNorm(1.0, 2.0)) == "neither"
