import numpy as np
import pytest

from haarbor.paraproducts._folder_axis import FolderAxis
from haarbor.paraproducts._softmax_kernels import level_log_sums, masked_columns
from haarbor.paraproducts._softmax_pieces import column_levels
from tests.samples import HALVES

LEVELS = column_levels(FolderAxis(HALVES))
SIZES = FolderAxis(HALVES).sizes


@pytest.mark.parametrize("shift", [0.0, 900.0, -900.0])
def test_log_sums_of_each_level_do_not_overflow(shift):
    # Means of the root, of two halves and of four items, in the order of the folders.
    means = shift + np.array([[2.5, 1.0, 4.0, 0.0, 2.0, 3.0, 5.0]])
    found = np.empty((1, 3))
    level_log_sums(means, SIZES, LEVELS.members, LEVELS.begins, 0, 1, found)
    expected = [np.log(4) + 2.5, np.log(2 * np.exp([1.0, 4.0]).sum()), np.log(np.exp([0.0, 2, 3, 5]).sum())]
    np.testing.assert_allclose(found[0], shift + np.array(expected), rtol=1e-14)


def test_masked_softmax_of_the_last_level_is_over_the_valid_entries():
    # Item 2 is masked, and a row that sees nothing is left as it was.
    means = np.array([[7 / 3, 1.0, 5.0, 0.0, 2.0, 0.0, 5.0]])
    counts = np.array([[3.0, 2.0, 1.0, 1.0, 1.0, 0.0, 1.0], [0.0] * 7])
    total, softmax = np.zeros((2, 4)), np.zeros((2, 4))
    masked_columns(means, counts, np.zeros(2, dtype=np.int64), *LEVELS, total, softmax)
    weights = np.exp([0.0, 2.0, 5.0])
    np.testing.assert_allclose(softmax[0, [0, 1, 3]], weights / weights.sum(), rtol=1e-14)
    assert softmax[0, 2] == 0
    assert (softmax[1] == 0).all()
    assert (total[1] == 0).all()
