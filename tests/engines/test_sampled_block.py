"""Columns drawn at random: by hand, right on average, and their variance."""

import numpy as np
import pytest

from haarbor.engines._sampled_block import SampledBlock, _chances, _drawn


class Block:
    """Two sections of given columns."""

    def __init__(self, columns, ends, targets=(0, 1)):
        self.columns = columns
        self.dtype = columns.dtype
        self.section_ends = np.array(ends)
        self.section_targets = np.array(targets)

    def write_means(self, out):
        out[:] = self.columns


PAIRS = np.array([[0, 1, 4], [1, 3, 2]])


def columns(seed=0):
    rng = np.random.default_rng(seed)
    # Few columns matter much, as keys of attention do, and one is the same for all.
    found = rng.exponential(size=(5, 30)) * rng.pareto(1.5, size=30)
    found[:, 7] = 3.0
    return found


def written(n_drawn, seed, found=None):
    found = columns() if found is None else found
    block = SampledBlock(Block(found, (10, 30)), np.array(n_drawn), (seed,), PAIRS)
    out = np.empty((5, int(block.section_ends[-1])))
    block.write_means(out)
    return block, out


def exact(found):
    apart = np.abs(found[PAIRS[0]] - found[PAIRS[1]])
    return np.stack([apart[:, :10].sum(axis=1), apart[:, 10:].sum(axis=1)])


def test_all_columns_are_taken_where_there_are_no_more():
    block, out = written((10, 99), 0)
    np.testing.assert_array_equal(out, columns())
    np.testing.assert_allclose(block.sums, exact(columns()))
    assert not block.variances.any()


def test_equal_columns_by_hand():
    # Each of ten equal columns is drawn with probability 1/2, and counts double.
    equal = np.repeat(np.arange(5.0)[:, None], 30, axis=1)
    block, out = written((5, 10), 1, equal)
    np.testing.assert_allclose(out, 2 * equal[:, :15])
    np.testing.assert_allclose(block.sums[0], 10 * np.abs(PAIRS[0] - PAIRS[1]))
    np.testing.assert_allclose(block.variances[0], 5 * 0.5 * (2.0 * (PAIRS[0] - PAIRS[1])) ** 2)


@pytest.mark.parametrize("n_drawn", [2, 5, 9, 29])
def test_probabilities_sum_to_the_number_of_draws(n_drawn):
    chances = _chances(columns(), n_drawn)
    assert chances.sum() == pytest.approx(n_drawn)
    assert (chances > 0).all()
    assert (chances <= 1).all()
    rng = np.random.default_rng(0)
    counts = np.zeros(30)
    for _ in range(2000):
        drawn = _drawn(chances, n_drawn, rng)
        assert np.unique(drawn).size == n_drawn
        counts[drawn] += 1
    deviation = np.sqrt(2000 * chances * (1 - chances))
    assert (np.abs(counts - 2000 * chances) <= 5 * deviation + 1e-6).all()


def test_constant_columns_are_drawn_evenly():
    np.testing.assert_allclose(_chances(np.ones((5, 8)), 2), 0.25)


def test_sums_are_right_on_average_and_spread_no_more_than_told():
    drawn = [written((4, 8), seed)[0] for seed in range(1500)]
    sums = np.stack([block.sums for block in drawn])
    told = np.stack([block.variances for block in drawn]).mean(axis=0)
    spread = sums.std(axis=0)
    assert (np.abs(sums.mean(axis=0) - exact(columns())) <= 5 * spread / np.sqrt(1500) + 1e-9).all()
    # A fixed number is drawn, which can only help; the estimate is not far from it.
    assert (spread <= 1.1 * np.sqrt(told)).all()
    assert (np.sqrt(told) <= 3 * spread + 1e-9).all()


def test_the_same_seed_draws_the_same():
    np.testing.assert_array_equal(written((4, 8), 3)[1], written((4, 8), 3)[1])
    assert not np.array_equal(written((4, 8), 3)[1], written((4, 8), 4)[1])
