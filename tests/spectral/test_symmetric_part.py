import numpy as np
import pytest

from haarbor.spectral._symmetric_part import asymmetry, symmetric_part


@pytest.mark.parametrize("n_items", [1, 2, 255, 256, 257, 600])
def test_both_are_those_of_the_whole_matrix_at_once(rng, n_items):
    matrix = rng.normal(size=(n_items, n_items))
    assert symmetric_part(matrix).tobytes() == ((matrix + matrix.T) / 2).tobytes()
    assert asymmetry(matrix) == np.abs(matrix - matrix.T).max()
    assert asymmetry(symmetric_part(matrix)) == 0


def test_one_entry_is_noticed_wherever_it_is(rng):
    for place in [(0, 599), (599, 0), (300, 299), (10, 11)]:
        matrix = np.ones((600, 600))
        matrix[place] = 3.0
        assert asymmetry(matrix) == 2.0
        matrix[place] = np.nan
        assert np.isnan(asymmetry(matrix))


def test_another_order_in_memory_gives_the_same(rng):
    matrix = rng.normal(size=(300, 300))
    assert (symmetric_part(np.asfortranarray(matrix)) == symmetric_part(matrix)).all()
