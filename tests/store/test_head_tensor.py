import numpy as np
import pytest

from haarbor.errors import SettingError
from haarbor.store import HeadTensor


@pytest.fixture
def layers(rng):
    return rng.normal(size=(3, 2, 5, 4)).astype(np.float32)  # layer, head, query, key


@pytest.fixture
def whole(layers):
    return layers.reshape(6, 5, 4).transpose(1, 2, 0)


@pytest.fixture
def reads():
    return []


@pytest.fixture
def tensor(layers, reads):
    def layer_values(layer):
        reads.append(layer)
        return layers[layer]

    return HeadTensor(layer_values, 3, (2, 5, 4))


def test_nothing_is_read_before_it_is_looked_at(tensor, reads):
    assert (tensor.shape, tensor.ndim, tensor.size, tensor.nbytes, len(tensor)) == ((5, 4, 6), 3, 120, 480, 5)
    assert repr(tensor) == "HeadTensor(5 query x 4 key x 6 head, 3 layers, read on demand)"
    assert np.shape(tensor) == (5, 4, 6)
    assert np.ndim(tensor) == 3
    assert reads == []


def test_all_of_it_is_every_layer_once(tensor, whole, reads):
    assert np.array_equal(np.asarray(tensor), whole)
    assert reads == [0, 1, 2]
    assert np.asarray(tensor).flags.c_contiguous
    assert np.asarray(tensor, dtype=np.float64).dtype == np.float64


def test_a_head_reads_its_layer_only(tensor, whole, reads):
    assert np.array_equal(tensor[:, :, 3], whole[:, :, 3])
    assert np.array_equal(tensor.head(3), whole[:, :, 3])
    assert np.array_equal(tensor[..., 2:4], whole[..., 2:4])
    assert np.array_equal(tensor.layer(1), whole[:, :, 2:4])
    assert reads == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "index",
    [
        np.s_[0],
        np.s_[1, 2],
        np.s_[1, 2, 3],
        np.s_[:, :, -1],
        np.s_[-1, :, -6],
        np.s_[::2, 1:, ::-1],
        np.s_[:, :, 4:1:-2],
        np.s_[:, :, 5:2],
        np.s_[..., 0],
        np.s_[..., None],
        np.s_[:, None, :, 1],
        np.s_[[0, 2], :, 1],
        np.s_[:, :, [5, 0]],
        np.s_[..., np.array([True, False, True, False, False, True])],
    ],
)
def test_indexing_is_that_of_the_array(tensor, whole, index):
    assert np.array_equal(tensor[index], whole[index])


def test_it_takes_part_in_arithmetic(tensor, whole):
    assert np.array_equal(tensor + 1, whole + 1)
    assert np.array_equal(2 * tensor - tensor, whole)
    assert np.array_equal(np.abs(tensor), np.abs(whole))
    assert np.array_equal(tensor.sum(axis=1), whole.sum(axis=1))
    assert np.array_equal(np.mean(tensor, axis=0), np.mean(whole, axis=0))
    assert np.array_equal(tensor.T, whole.T)


def test_places_that_are_not_there(tensor):
    with pytest.raises(SettingError, match=r"layer must lie in 0..2; found 3"):
        tensor.layer(3)
    for wrong in ("0", 0.0, True, None, 10**5000):
        with pytest.raises(SettingError, match=r"layer must lie in 0..2; found"):
            tensor.layer(wrong)
        with pytest.raises(SettingError, match=r"head must lie in 0..5; found"):
            tensor.head(wrong)
    with pytest.raises(SettingError, match=r"head must lie in 0..5; found -1"):
        tensor.head(-1)
    with pytest.raises(IndexError):
        tensor[:, :, 6]
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = tensor.colour
    with pytest.raises(ValueError, match="always copied"):
        np.asarray(tensor, copy=False)
