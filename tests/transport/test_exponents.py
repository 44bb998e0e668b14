import numpy as np
import pytest

from haarbor import SettingError
from haarbor.transport.exponents import exponent_by_axis

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
        (float("nan"), "alpha must be a finite number; found nan for axis 'query'"),
        (float("inf"), "alpha must be a finite number; found inf"),
        ("1", "alpha must be a finite number; found '1'"),
        (None, "alpha must be a finite number; found None"),
        ({"query": 1.0, "key": "x"}, "found 'x' for axis 'key'"),
    ],
)
def test_bad_exponents_are_refused(value, message):
    with pytest.raises(SettingError, match=message):
        exponent_by_axis("alpha", value, AXES)
