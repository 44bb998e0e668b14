import numpy as np
import pytest

import haarbor as hb
from haarbor.transport import mapped_tensor


@pytest.fixture
def saved(rng, tmp_path):
    """Numbers (head, query, key) and the same, mapped from a file."""

    def save(dtype=np.float32, shape=(5, 4, 3)):
        values = rng.normal(size=shape).astype(dtype)
        np.save(tmp_path / "X.npy", values)
        return values, np.load(tmp_path / "X.npy", mmap_mode="r")

    return save


@pytest.mark.parametrize(
    ("dtype", "computed"), [("float16", "float32"), ("float32", "float32"), ("float64", "float64")]
)
def test_runs_are_read_from_the_file_and_from_parts_of_it(saved, dtype, computed):
    values, mapped = saved(dtype)
    for begin in (0, 2):
        tensor = mapped_tensor(mapped[begin:].transpose(1, 2, 0))
        assert tensor.shape == (5 - begin, 4, 3)
        assert tensor.dtype == computed
        assert tensor.nbytes == values[begin:].size * np.dtype(computed).itemsize
        out = np.empty((2, 3), computed)
        tensor.read((1, 2, 0), out)
        assert (out == values[begin + 1, 2:4]).all()


@pytest.mark.parametrize("dtype", [">f4", np.int32, np.complex64])
def test_other_numbers_are_not_read_in_place(saved, dtype):
    assert mapped_tensor(saved(dtype)[1].transpose(1, 2, 0)) is None


def test_other_orders_are_not_read_in_place(saved):
    values, mapped = saved()
    assert mapped_tensor(mapped) is None
    assert mapped_tensor(mapped[::2].transpose(1, 2, 0)) is None
    assert mapped_tensor(values.transpose(1, 2, 0)) is None
    assert mapped_tensor(mapped[0].T) is None


def test_a_file_that_is_gone_is_not_read_in_place(saved, tmp_path):
    mapped = saved()[1]
    (tmp_path / "X.npy").unlink()
    assert mapped_tensor(mapped.transpose(1, 2, 0)) is None


def test_a_file_that_became_shorter_is_refused(saved, tmp_path):
    tensor = mapped_tensor(saved()[1].transpose(1, 2, 0))
    with (tmp_path / "X.npy").open("r+b") as file:
        file.truncate(200)
    with pytest.raises(hb.StoreError, match=r"must stay as it is .* ends too early\. Organise again"):
        tensor.read((4, 0, 0), np.empty(12, np.float32))
