import numpy as np
import pytest

from haarbor.trees._haar_linkage_kernels import haar_joins, rotation_sums


def joined(rows, stop=0):
    n = rows.shape[0]
    means = np.concatenate([rows, np.zeros((n - 1, rows.shape[1]), rows.dtype)])
    cost = np.abs(rows[:, None] - rows).sum(axis=2, dtype=float) * 0.5**0.5
    joins, terms = np.full((n - 1, 2), -1), np.full(n - 1, -1.0)
    computed = haar_joins(means, cost, 1e-12, joins, terms, np.array([stop], np.uint8))
    return means, joins, terms, computed


def test_bounds_spare_most_of_the_sums(rng):
    centres = rng.normal(size=(8, 20))
    rows = np.repeat(centres, 8, axis=0) + 0.05 * rng.normal(size=(64, 20))
    *_, computed = joined(rows)
    assert 0 < computed < 64 * 63 / 2 / 3


def test_means_are_those_of_the_items_below(rng):
    rows = rng.normal(size=(12, 5))
    means, joins, terms, _ = joined(rows)
    below = {item: [item] for item in range(12)}
    for step, (a, b) in enumerate(joins.tolist()):
        below[12 + step] = below[a] + below[b]
        np.testing.assert_allclose(means[12 + step], rows[below[12 + step]].mean(axis=0), atol=1e-14)
        size = len(below[a]) * len(below[b]) / len(below[12 + step])
        apart = np.abs(rows[below[a]].mean(axis=0) - rows[below[b]].mean(axis=0)).sum()
        assert terms[step] == pytest.approx(size**0.5 * apart)


def test_joins_end_when_told_to(rng):
    _, joins, _, computed = joined(rng.normal(size=(6, 3)), stop=1)
    assert (joins == -1).all()
    assert computed == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 511, 513])
def test_sums_of_rotations(rng, dtype, width):
    means = rng.normal(size=(5, width)).astype(dtype)
    sizes = np.array([1.0, 4.0, 2.0, 7.0, 3.0])
    sums = np.full((2, 4), np.nan)
    rotation_sums(means, np.array([[4, 1, 2], [0, 3, 4]]), sizes, 0, 1, sums, np.zeros(1, np.uint8))
    a, b, c = means[[4, 1, 2]].astype(float)
    expected = [
        np.abs(a - b).sum(),
        np.abs(c - (3 * a + 4 * b) / 7).sum(),
        np.abs(a - c).sum(),
        np.abs(b - (3 * a + 2 * c) / 5).sum(),
    ]
    np.testing.assert_allclose(sums[0], expected, rtol=1e-5)
    assert np.isnan(sums[1]).all()
