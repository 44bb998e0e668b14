"""What the tests of several modules are given."""

import numpy as np
import pytest


@pytest.fixture
def pixels(rng):
    return rng.integers(0, 256, (3, 20, 14, 3), dtype=np.uint8)
