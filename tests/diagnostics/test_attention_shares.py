import numpy as np

from haarbor.diagnostics._attention_shares import share_weights
from haarbor.diagnostics._token_places import token_places


def shares(A, mask, texts=()):
    weights = share_weights(mask, token_places(mask), texts, texts)
    return {name: float((A * weight).sum()) for name, weight in weights.items()}


def test_hand_values_of_three_tokens():
    A = np.array([[1, 0, 0], [0.25, 0.75, 0], [0.5, 0.25, 0.25]])
    found = shares(A, np.tri(3, dtype=bool), ("a", "b", "a"))
    expected = {
        "mean_distance": (0 + 0.25 + 1.25) / 3,
        "diagonal": 2 / 3,
        "previous_token": 0.25,
        "near": 1.0,
        "first_token": 1.75 / 3,
        "same_token": 0.5,
        "after_same_token": 0.25,
    }
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6)


def test_an_encoder_has_next_and_last_tokens():
    found = shares(np.full((4, 4), 0.25), np.ones((4, 4), bool))
    for name in ("diagonal", "previous_token", "next_token", "first_token", "last_token"):
        np.testing.assert_allclose(found[name], 0.25, rtol=1e-6)


def test_a_token_behind_a_gap_follows_nothing():
    mask = np.tri(4, dtype=bool)
    places = token_places(mask)
    kept = np.array([0, 2, 3])
    cut = type(places)(places.queries[kept], places.keys[kept], True)
    found = share_weights(mask[np.ix_(kept, kept)], cut, "aba", "aba")
    # "b" does not follow the first "a": the token between them was padding.
    assert "after_same_token" not in found
    assert found["same_token"][2, 0] == 1


def test_tokens_of_two_texts_have_no_places():
    assert share_weights(np.ones((2, 3), bool), None, "ab", "abc").keys() == {"first_token", "last_token"}
