"""The tables of docs/evidence/labelled_data.md are those of the file they were made from."""

import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evidence" / "labelled_data.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "docs" / "results" / "labelled_data.json").read_text(encoding="utf-8"))


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("labelled_data")


def test_the_tables_are_those_of_the_results(script):
    [shown] = re.findall(r"<!-- tables -->\n(.*?)\n<!-- end -->", PAGE, flags=re.DOTALL)
    assert shown == script.table(RESULTS)


def test_every_set_and_builder_of_the_script_is_in_the_results(script):
    assert list(RESULTS) == list(script.SETS)
    for result in RESULTS.values():
        missing = set(script.BUILDERS) - set(result["builders"])
        assert all(name.startswith("coupled") for name in missing), result["name"]


def test_a_tree_is_cut_where_most_of_the_spread_is(script):
    tree = script.hb.PartitionTree([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 2, 2, 3], [0, 1, 2, 3, 4]])
    rows = script.np.array([[0.0], [1.0], [10.0], [10.0], [30.0]])
    parts = [script.cut(tree, rows, n).tolist() for n in (1, 2, 3)]
    assert [len(set(part)) for part in parts] == [1, 2, 3]
    # The third folder comes from the right half, whose items differ more.
    assert parts[2][0] == parts[2][1]
    assert parts[2][2] == parts[2][3] != parts[2][4]


def test_co_clusters_are_the_blocks(script):
    blocks = script.np.kron(script.np.eye(3), script.np.ones((4, 5))) + 0.05
    found = script.co_clusters(blocks, 3)
    assert script.adjusted_mutual_information(found, script.np.repeat([0, 1, 2], 4)) == 1.0


def test_coupled_trees_find_blocks(script):
    rng = script.np.random.default_rng(0)
    blocks = script.np.kron(script.np.eye(3), script.np.ones((6, 5))) + 0.2 * rng.random((18, 15))
    for filtered in (False, True):
        rows, columns = script.coupled_trees(blocks, filtered=filtered)
        for tree, size in ((rows, 6), (columns, 5)):
            folders = {tuple(items.tolist()) for partition in tree for items in partition}
            assert {tuple(range(place, place + size)) for place in (0, size, 2 * size)} <= folders
