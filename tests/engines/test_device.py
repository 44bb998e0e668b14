import inspect

import pytest

from haarbor.engines import Device
from haarbor.engines._cuda_device import CudaDevice
from tests.engines.numpy_device import NumpyDevice

METHODS = [name for name, value in vars(Device).items() if inspect.isfunction(value) and name[0] != "_"]


def test_the_kernels_are_among_what_a_device_must_offer():
    assert {"add_pair_sums", "outer_sums", "raised_sums", "haar_coefficients"} <= set(METHODS)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("device", [CudaDevice, NumpyDevice])
def test_devices_offer_every_method_with_the_same_arguments(device, name):
    assert list(inspect.signature(getattr(device, name)).parameters) == list(
        inspect.signature(getattr(Device, name)).parameters
    )
