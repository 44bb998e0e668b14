import numpy as np

from haarbor.spectral._presence_kernels import squares_by_presence
from tests.assertions import assert_close


def test_uniform_presence_gives_sums_of_squares(rng):
    block = rng.normal(size=(3, 4, 5))
    block[0, 2] = block[2, 0] = 0
    squares, present, alike = squares_by_presence(block)
    assert alike
    assert_close(squares, (block**2).sum(axis=2))
    assert present.tolist() == (block[:, :, 0] != 0).astype(float).tolist()


def test_scattered_presence_is_noticed(rng):
    block = rng.normal(size=(3, 4, 5))
    for place in ((0, 0, 0), (2, 3, 4), (1, 1, 2)):
        holed = block.copy()
        holed[place] = 0
        assert not squares_by_presence(holed)[2]
    assert squares_by_presence(block)[2]
    assert squares_by_presence(np.zeros((2, 2, 3)))[2]
