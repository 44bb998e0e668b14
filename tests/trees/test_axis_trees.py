import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import ShapeError, TreeError
from haarbor.paraproducts import paraproduct_forms, telescoping
from haarbor.trees import require_tree, require_trees_fit, row_and_column_trees, trees_by_axis
from tests.samples import CHAINED, HALVES, PAIR

TREES = {"query": HALVES, "key": CHAINED}
TAKERS = {
    "paraproduct": lambda f, *trees, **named: hb.paraproduct(f, *trees, **named).approximation,
    "paraproduct_forms": lambda f, *trees, **named: (
        paraproduct_forms(f, *trees, **named)["corrected"].approximation
    ),
    "telescoping": lambda f, *trees, **named: telescoping(f, *trees, **named).terms["differences"],
    "softmax_invariance": lambda f, *trees, **named: hb.softmax_invariance(f, *trees, **named).exact,
    "holder_exponent": lambda f, *trees, **named: hb.holder_exponent(f, *trees, **named).alpha,
}


@pytest.mark.parametrize("taker", TAKERS)
def test_a_matrix_is_taken_with_two_trees_or_with_those_of_queries_and_keys(taker, rng):
    f = rng.normal(size=(4, 5))
    take = TAKERS[taker]
    expected = take(f, HALVES, CHAINED)
    np.testing.assert_array_equal(take(f, trees=TREES), expected)
    # The trees of a whole network: that of the heads is not used.
    np.testing.assert_array_equal(take(f, trees={**TREES, "head": PAIR}), expected)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(
    ("given", "named", "found"),
    [
        ((HALVES, CHAINED), {"trees": TREES}, "row_tree and column_tree and trees"),
        ((HALVES,), {"trees": TREES}, "row_tree and trees"),
        ((), {}, "none of them"),
        ((HALVES,), {}, "row_tree"),
        ((), {"column_tree": CHAINED}, "column_tree"),
    ],
)
def test_trees_given_in_both_ways_or_in_neither_are_refused(taker, given, named, found):
    message = (
        "^the trees of a matrix must be given as row_tree and column_tree, or as trees=; "
        rf'found {found}\. Pass both trees, or trees=\{{"query": \.\.\., "key": \.\.\.\}}\.$'
    )
    with pytest.raises(TreeError, match=message):
        TAKERS[taker](np.eye(4, 5), *given, **named)


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        ({"query": HALVES}, r"one for 'query' and one for 'key'; missing \['key'\]\. Pass one for each\."),
        ({"row": HALVES, "column": HALVES}, r"one for 'query' and one for 'key'; missing \['query', 'key'\]"),
        ({"query": HALVES, "key": 5}, "the tree of axis 'key' must be a PartitionTree; found int"),
        ([HALVES, HALVES], "trees must be a mapping of axis names to trees; found"),
    ],
)
def test_mappings_without_the_trees_of_queries_and_keys_are_refused(trees, message):
    with pytest.raises(TreeError, match=message):
        row_and_column_trees(None, None, trees)


def test_what_is_no_tree_is_named():
    assert require_tree(PAIR) is PAIR
    with pytest.raises(TreeError, match="column_tree must be a PartitionTree; found list"):
        row_and_column_trees(PAIR, [[0, 0], [0, 1]], None)


def test_only_axes_of_the_tensor_may_have_a_tree():
    assert trees_by_axis(TREES) is TREES
    assert trees_by_axis(TREES, ("query", "key", "head")) is TREES
    with pytest.raises(TreeError, match=r"trees must be on the axes \('query',\); found one on 'key'\."):
        trees_by_axis(TREES, ("query",))


def test_trees_fit_by_their_number_of_items():
    require_trees_fit(TREES, ("head", "key", "query"), (9, 5, 4))
    with pytest.raises(ShapeError, match="the tree of axis 'key' must have 6 items like the tensor; found 5"):
        require_trees_fit(TREES, ("query", "key"), (4, 6))
