import numpy as np
import pytest

from haarbor.array_types import frozen


def test_frozen_returns_the_same_array_with_writing_off():
    array = np.zeros(3)
    assert frozen(array) is array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1.0
