import types

import numpy as np
import pytest
import torch

import haarbor as hb
from haarbor.engines._device_arrays import device_array, device_arrays, is_on_device, numbers_in_memory_order
from tests.engines.numpy_device import NumpyDevice


class Elsewhere:
    """An array of another library, with the words by which arrays say where they are."""

    def __init__(self, place):
        self.place = place

    def __dlpack_device__(self):
        if self.place is None:
            raise RuntimeError("no memory of its own")
        return (self.place, 0)


class Interface:
    @property
    def __cuda_array_interface__(self):
        return {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.zeros(3), False),
        ([1.0, 2.0], False),
        (torch.zeros(3), False),
        (torch.zeros(3, device="meta"), False),
        (Elsewhere(1), False),
        (Elsewhere(2), True),
        (Elsewhere(13), True),
        (Elsewhere(None), False),
        (Interface(), True),
        (3.0, False),
    ],
)
def test_arrays_on_a_cuda_device_are_recognised(given, expected):
    assert is_on_device(given) is expected


def test_an_array_of_the_module_is_shared():
    array = np.zeros((3, 4), np.float16)
    assert device_array(array, NumpyDevice()) is array


def test_arrays_that_come_together_keep_shape_type_and_values(rng):
    given = [
        rng.integers(-9, 9, 3).astype(np.int32), rng.random(5), np.zeros(0), rng.random((3, 2)).T,
        np.array([7], np.int8), np.array(2.5, np.float32), rng.random(1).astype(np.float16), np.arange(4),
    ]  # fmt: skip
    found = device_arrays(given, NumpyDevice())
    assert len(found) == len(given)
    for one, other in zip(found, given, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert (one == other).all()
        assert one.ctypes.data % one.itemsize == 0


def test_a_tensor_on_another_device_is_refused():
    class Array:
        dtype = np.dtype(np.float32)
        device = types.SimpleNamespace(id=1)

    device = types.SimpleNamespace(xp=types.SimpleNamespace(ndarray=Array), number=0)
    with pytest.raises(hb.EngineError, match=r"current device, GPU 0; found it on GPU 1.*set_device\(1\)"):
        device_array(Array(), device)
    device.number = 1
    assert isinstance(device_array(Array(), device), Array)


def test_arrays_in_any_order_of_memory_are_read_without_a_copy(rng):
    stored = rng.normal(size=(3, 4, 5))
    for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        flat = numbers_in_memory_order(stored.transpose(order), NumpyDevice())
        assert np.shares_memory(flat, stored)
        assert (flat == stored.ravel()).all()
    assert sorted(numbers_in_memory_order(stored[:, ::2], NumpyDevice())) == sorted(stored[:, ::2].ravel())


def test_torch_tensors_are_taken_bfloat16_and_gradients_included():
    numbers = torch.tensor([[0.5, 2.0]], dtype=torch.bfloat16, requires_grad=True)
    taken = device_array(numbers, NumpyDevice())
    assert taken.dtype == np.float32
    assert taken.tolist() == [[0.5, 2.0]]


@pytest.mark.parametrize("dtype", [np.int32, np.bool_])
def test_whole_numbers_become_float64(dtype):
    assert device_array(np.ones(2, dtype), NumpyDevice()).dtype == np.float64


def test_complex_numbers_are_refused():
    with pytest.raises(hb.ShapeError, match="must hold real numbers; found dtype complex128"):
        device_array(np.ones(2, complex), NumpyDevice())
