import numpy as np
import pytest

import haarbor as hb
from haarbor.analysis import HeadTrees, head_trees
from haarbor.errors import SettingError, ShapeError
from tests.analysis.logit_runs import network
from tests.samples import HALVES, PAIR


@pytest.mark.parametrize(("settings", "alpha", "beta"), [("ours", 0.0, 1.0), ("paper", 1.0, 0.0)])
def test_trees_are_those_of_each_head_organised_alone(settings, alpha, beta):
    made = network()
    found = head_trees(made.tensor, mask=made.mask, settings=settings)
    for head in range(made.tensor.shape[2]):
        alone = hb.organize(
            made.tensor[:, :, head], mask=made.mask, content="logits", alpha=alpha, beta=beta, n_iterations=10
        )
        assert found.trees(head) == (alone.trees["query"], alone.trees["key"])
    assert len({found.trees(head)[0].n_levels for head in range(6)}) > 1, "packing is not tried by this case"


def test_some_heads_only():
    made = network()
    told = []
    found = head_trees(made.tensor, mask=made.mask, heads=[4, 1], on_progress=lambda *step: told.append(step))
    assert found.heads.tolist() == [4, 1]
    assert told == [("organising heads", 1, 2), ("organising heads", 2, 2)]
    assert found.trees(1) == head_trees(made.tensor, mask=made.mask).trees(1)
    with pytest.raises(SettingError, match="one that was organised"):
        found.trees(0)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match=r"axes \(query, key, head\)"):
        head_trees(np.zeros((4, 4)))
    with pytest.raises(SettingError, match="'ours' or 'paper'"):
        head_trees(np.zeros((4, 4, 1)), settings="theirs")
    for wrong in (3, "0", [], [None], [4], [-1], [0.0], {}, object()):
        with pytest.raises(SettingError, match=r"heads must be a list of numbers from 0 to 3; found .* Name"):
            head_trees(np.zeros((4, 4, 4)), heads=wrong)
    with pytest.raises(SettingError, match="on_progress must be a function"):
        head_trees(np.zeros((4, 4, 1)), on_progress=3)


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
