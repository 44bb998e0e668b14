import numpy as np
import pytest

from haarbor import SettingError
from haarbor.transport._exponents import exponent_by_axis

AXES = ("query", "key")


def test_one_number_serves_all_axes():
    assert exponent_by_axis("alpha", 2, AXES) == {"query": 2.0, "key": 2.0}
    assert exponent_by_axis("beta", np.float32(0.5), AXES) == {"query": 0.5, "key": 0.5}


def test_a_mapping_gives_each_axis_its_own():
    found = exponent_by_axis("alpha", {"key": np.int64(1), "query": -0.5}, AXES)
    assert found == {"query": -0.5, "key": 1.0}
    assert list(found) == ["query", "key"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"query": 1.0}, r"alpha must be one number or one for each of .*; missing \['key'\]"),
        ({"query": 1.0, "key": 1.0, "layer": 2.0}, r"unknown \['layer'\]"),
        (float("nan"), "alpha of axis 'query' must lie between -1000 and 1000; found nan"),
        (float("inf"), "alpha of axis 'query' must lie between -1000 and 1000; found inf"),
        (1e300, "between -1000 and 1000; found 1e.300"),
        (10**400, "between -1000 and 1000; found a whole number of 1329 bits"),
        ("1", "alpha of axis 'query' must lie between -1000 and 1000; found '1'"),
        (None, "alpha of axis 'query' must lie between -1000 and 1000; found None"),
        (True, "found True"),
        ({"query": 1.0, "key": "x"}, "alpha of axis 'key' must lie between -1000 and 1000; found 'x'"),
    ],
)
def test_bad_exponents_are_refused(value, message):
    with pytest.raises(SettingError, match=message):
        exponent_by_axis("alpha", value, AXES)
