import numpy as np
import pytest

from haarbor.compare import matching_test
from haarbor.errors import SettingError, ShapeError


def noise(seed, shape=(8, 8)):
    return np.random.default_rng(seed).uniform(0.5, 1.0, size=shape)


def test_a_copy_removes_all_of_the_distance():
    near = 1.0 - np.eye(8)
    found = matching_test(near, near)
    assert (found.matched, found.alikeness) == (0.0, 1.0)
    assert found.chance == pytest.approx(7 / 8)
    assert found.p_value == pytest.approx(1 / 1000)


def test_a_value_by_hand():
    # Two heads: one of the two ways to pair them is the one found, so half of the random ones are as low.
    found = matching_test([[0.0, 1.0], [1.0, 0.0]], [[1.0, 3.0], [5.0, 1.0]], n_permutations=2000)
    assert (found.matched, found.chance, found.alikeness) == (1.0, 2.5, 0.6)
    assert found.p_value == pytest.approx(0.5, abs=0.05)


def test_pairs_of_noise_are_rejected_as_often_as_the_level_says():
    p = np.array(
        [matching_test(noise(2 * n), noise(2 * n + 1), n_permutations=99).p_value for n in range(200)]
    )
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.045)
    assert p.mean() == pytest.approx(0.5, abs=0.08)


def test_the_pairs_are_made_without_the_tokens_they_are_tested_on():
    seen, unseen = noise(0), noise(1)
    best = matching_test(unseen, unseen).alikeness
    assert matching_test(seen, unseen).alikeness < best


@pytest.mark.parametrize("shape", [(3, 9), (9, 3)])
def test_networks_of_different_sizes(shape):
    unseen = noise(3, shape)
    found = matching_test(noise(2, shape), unseen)
    assert found.chance == pytest.approx(unseen.mean())
    assert 0 < found.p_value <= 1
    near = np.ones(shape)
    near[range(3), range(3)] = 0.0
    assert matching_test(near, near).p_value < 0.05


def test_heads_that_are_all_the_same_have_no_alikeness():
    found = matching_test(np.zeros((3, 3)), np.zeros((3, 3)))
    assert np.isnan(found.alikeness)
    assert found.p_value == 1.0


def test_rejections():
    with pytest.raises(ShapeError, match="same heads"):
        matching_test(noise(0), noise(0, (8, 7)))
    with pytest.raises(SettingError, match="n_permutations"):
        matching_test(noise(0), noise(0), n_permutations=0)
