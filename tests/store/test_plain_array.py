import numpy as np
import pytest

from haarbor.errors import ShapeError
from haarbor.store._plain_array import plain_array


def test_an_array_is_taken_as_it_is():
    values = np.arange(6.0).reshape(2, 3)
    assert plain_array(values) is values
    assert plain_array([[1, 2]]).tolist() == [[1, 2]]


def test_tensors_become_arrays_and_bfloat16_becomes_float32():
    torch = pytest.importorskip("torch")
    found = plain_array(torch.tensor([0.5, 3.0], dtype=torch.bfloat16, requires_grad=True))
    assert found.dtype == np.float32
    assert found.tolist() == [0.5, 3.0]
    assert plain_array(torch.tensor([1, 2])).dtype == np.int64


def test_hidden_entries_and_rows_of_different_lengths_are_refused():
    with pytest.raises(ShapeError, match="the mask must hold its numbers openly; found a masked array"):
        plain_array(np.ma.masked_array([1, 2], [True, False]), "the mask")
    with pytest.raises(ShapeError, match="must be an array of numbers of one shape; found list") as refused:
        plain_array([[1, 2], [3]])
    assert "\n" not in str(refused.value)
