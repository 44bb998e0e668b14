import numpy as np
import pytest

import haarbor as hb
from haarbor.questionnaire._device_entries import checked_device_tensor
from tests.engines.numpy_device import NumpyDevice

AXES = ("query", "key")


def test_a_usable_tensor_is_returned_as_it_is(rng):
    tensor = rng.normal(size=(3, 4))
    assert checked_device_tensor(tensor, AXES, NumpyDevice()) is tensor


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"found nan at \(query 1, key 2\), 1 such entries"),
        (np.inf, r"found inf at \(query 1, key 2\)"),
        (-np.inf, r"found -inf at .* pass mask="),
        (
            float(np.finfo(np.float32).min),
            r"found -3.40282e\+38 at \(query 1, key 2\), the lowest number of its type",
        ),
        (-65504.0, r"found -65504 at"),
    ],
)
def test_entries_without_a_value_are_refused_by_their_place(rng, value, message):
    tensor = rng.normal(size=(3, 4))
    tensor[1, 2] = value
    with pytest.raises(hb.DataError, match=message):
        checked_device_tensor(tensor, AXES, NumpyDevice())


@pytest.mark.parametrize(
    ("shape", "message"),
    [((2, 3, 4), r"must have the axes \('query', 'key'\)"), ((3, 0), "Axis 'key' is empty")],
)
def test_other_shapes_are_refused(shape, message):
    with pytest.raises(hb.ShapeError, match=message):
        checked_device_tensor(np.zeros(shape), AXES, NumpyDevice())
