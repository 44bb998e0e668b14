"""The tables of docs/evidence/trees.md are those of the file they were made from."""

import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evidence" / "trees.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "docs" / "results" / "what_trees_buy.json").read_text(encoding="utf-8"))
SHOWN = re.findall(r"<!-- table (\S+) (\S+) -->\n((?:\|.*\n)+)", PAGE)


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("what_trees_buy")


def test_the_tables_are_those_of_the_results(script):
    assert len(SHOWN) == PAGE.count("<!-- table ") > 3
    for name, content, table in SHOWN:
        assert table.rstrip() == script.table(RESULTS, name, content)


def test_every_network_has_every_builder(script):
    assert set(RESULTS) == set(script.NAMES)
    for result in RESULTS.values():
        for content in script.CONTENTS:
            assert list(result["contents"][content]) == list(script.BUILDERS)


def test_a_group_is_compared_with_its_nearest_folder(script):
    tree = script.hb.PartitionTree([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]])
    assert script.found_group(tree, [2, 3])[0] == 1
    # Of {0, 2} the best are a single item and all four: a half each.
    assert script.found_group(tree, [0, 2])[0] == 0.5


def test_energy_is_counted_from_the_largest_coefficient(script):
    # On two equal queries and keys the only coefficient is that of the constant.
    X = script.np.ones((4, 4, 2))
    assert script.energies(X, script.order_trees(X)) == pytest.approx([1, 1, 1])
    noise = script.np.random.default_rng(0).normal(size=(10, 10, 10))
    few, more, most = script.energies(noise, script.order_trees(noise))
    squares = script.np.sort(script.hb.haar_transform(noise, script.order_trees(noise)).ravel() ** 2)[::-1]
    assert few == pytest.approx(squares[0] / squares.sum())
    assert more == pytest.approx(squares[:10].sum() / squares.sum())
    assert most == pytest.approx(squares[:50].sum() / squares.sum())
