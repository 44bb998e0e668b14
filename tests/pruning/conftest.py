"""What the tests of several modules are given."""

import pytest

from haarbor.pruning import calibration_pass
from tests.pruning.builders import CALIBRATION
from tests.pruning.small_networks import network


@pytest.fixture(scope="module")
def found():
    return calibration_pass(network("llama"), CALIBRATION, parts={"gradients"})
