import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis._example_heads import example_heads, organization_gain
from tests.reference.haar import haar_coefficients, haar_functions


def test_gain_is_the_fall_of_the_written_out_expansion(rng):
    X = rng.random((4, 5, 3))
    trees = hb.organize(X).trees
    gain = organization_gain(X, trees)
    halves = {4: [[0] * 4, [0, 0, 1, 1], [0, 1, 2, 3]], 5: None}
    halves[5] = [[0] * 5, [0, 0, 0, 1, 1], [0, 0, 1, 2, 3], [0, 1, 2, 3, 4]]
    for head in range(3):
        rest = X[:, :, head] - X[:, :, head].mean(axis=0)
        norms = []
        for query, key in ((halves[4], halves[5]), (trees["query"].levels, trees["key"].levels)):
            functions = {
                place: haar_functions(np.asarray(x).tolist()) for place, x in enumerate((query, key))
            }
            norms.append(np.abs(haar_coefficients(rest, functions)).sum())
        expected = (norms[0] - norms[1]) / np.linalg.norm(X[:, :, head])
        assert gain[head] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_head_whose_queries_are_all_alike_gains_nothing():
    X = np.zeros((6, 6, 2))
    X[:, 2, 0] = 1.0
    trees = hb.organize(X + 0.01).trees
    assert organization_gain(X, trees).tolist() == [0.0, 0.0]


def test_a_scrambled_head_gains_and_a_scaled_one_gains_as_much(rng):
    blocks = np.kron(np.eye(4), np.ones((4, 4)))[np.ix_(rng.permutation(16), rng.permutation(16))] + 0.01
    X = np.stack([blocks, 7 * blocks], axis=-1)
    gain = organization_gain(X, hb.organize(X).trees)
    assert gain[0] > 0.5
    assert gain[1] == pytest.approx(gain[0])


def test_one_head_is_told_from_every_stretch_of_depth():
    assert example_heads([9, 8, 7, 1, 2, 3]) == (0, 2, 5)
    assert example_heads([5, 5], n_shown=3) == (0, 1)
    assert example_heads([1, 3, 2], n_shown=1) == (1,)


def test_no_head_to_tell_is_refused():
    with pytest.raises(hb.SettingError, match="at least one head must be shown"):
        example_heads([])
