import numpy as np
import pytest

from haarbor.analysis import valid_tokens
from haarbor.errors import DataError


def test_valid_tokens_cuts_padding_and_says_what_is_left(rng):
    tensor = rng.normal(size=(5, 4, 2))
    mask = np.zeros((5, 4), dtype=bool)
    mask[1, 2] = mask[3, 0] = True
    cut = valid_tokens(tensor, mask)
    np.testing.assert_array_equal(cut.tensor, tensor[np.ix_([1, 3], [0, 2])])
    np.testing.assert_array_equal(cut.mask, [[False, True], [True, False]])
    assert cut.queries.tolist() == [1, 3]
    assert cut.keys.tolist() == [0, 2]


def test_valid_tokens_refuses_a_batch_of_nothing():
    with pytest.raises(DataError, match="every entry is masked"):
        valid_tokens(np.ones((2, 2, 1)), np.zeros((2, 2), dtype=bool))


def test_masked_logits_have_the_mean_of_their_row_and_probabilities_stay(rng):
    tensor = rng.random((3, 3, 2))
    tokens = valid_tokens(tensor, np.tri(3, dtype=bool))
    filled = tokens.filled("logits")
    for query in range(3):
        expected = np.tile(tensor[query, : query + 1].mean(axis=0), (2 - query, 1))
        np.testing.assert_allclose(filled[query, query + 1 :], expected)
        np.testing.assert_array_equal(filled[query, : query + 1], tensor[query, : query + 1])
    np.testing.assert_array_equal(tokens.filled("probabilities"), tensor)
