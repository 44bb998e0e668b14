import numpy as np
import pytest

from haarbor import SettingError
from haarbor.questionnaire import HeadTrees
from tests.samples import HALVES, PAIR

# Head 5 has a query tree of three levels; that of head 2 has two, and its last level is repeated.
FLAT = [[0, 0, 0, 0], [0, 1, 2, 3], [0, 1, 2, 3]]
TREES = HeadTrees(
    heads=np.array([5, 2]),
    query_levels=np.array([HALVES.levels, FLAT]),
    key_levels=np.array([PAIR.levels] * 2),
    query_n_levels=np.array([3, 2]),
    key_n_levels=np.array([2, 2]),
    n_iterations=np.array([3, 4]),
    settings="ours",
)


def test_trees_of_a_head_are_unpacked_without_the_repeated_levels():
    assert TREES.trees(5) == (HALVES, PAIR)
    assert TREES.trees(np.int64(2))[0].levels.tolist() == FLAT[:2]
    assert repr(TREES) == "HeadTrees(2 heads, 4 x 2, settings 'ours')"


def test_a_head_that_was_not_organised_is_refused():
    with pytest.raises(SettingError, match=r"head must be one that was organised; found 0\. .* \[5, 2\]\."):
        TREES.trees(0)
    for head in (-1, 2.0, None, "5"):
        with pytest.raises(SettingError, match="head must be a whole number from 0; found"):
            TREES.trees(head)
