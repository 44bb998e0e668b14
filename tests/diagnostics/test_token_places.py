import numpy as np

from haarbor.diagnostics._token_places import token_places


def test_a_causal_square_is_one_sequence():
    places = token_places(np.tri(4, dtype=bool))
    assert places.is_causal
    np.testing.assert_array_equal(places.distances, np.subtract.outer(np.arange(4), np.arange(4)))


def test_an_encoder_sees_both_ways():
    assert not token_places(np.ones((3, 3), bool)).is_causal
    # One token has no later one that could be hidden.
    assert not token_places(np.ones((1, 1), bool)).is_causal


def test_a_memory_is_counted_by_its_mask():
    places = token_places(np.tri(3, 5, 2, dtype=bool))
    np.testing.assert_array_equal(places.queries, [2, 3, 4])
    assert places.is_causal


def test_places_are_not_guessed():
    assert token_places(np.ones((3, 5), bool)) is None
    assert token_places(np.ones((5, 3), bool)) is None
    assert token_places(np.tri(4, dtype=bool), same_sequence=False) is None
    hidden = np.tri(3, 5, 2, dtype=bool)
    hidden[-1, -1] = False
    assert token_places(hidden) is None
