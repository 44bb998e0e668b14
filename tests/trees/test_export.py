import json

import pytest

import haarbor as hb
from tests.reference import newick
from tests.samples import CHAINED, HALVES, random_tree


def leaf_labels(node):
    content, _ = node
    if isinstance(content, str):
        return [content]
    return [label for child in content for label in leaf_labels(child)]


def clades(node):
    content, _ = node
    found = {frozenset(leaf_labels(node))}
    if not isinstance(content, str):
        for child in content:
            found |= clades(child)
    return found


def depths(node, above=0.0):
    content, length = node
    depth = above + (length or 0.0)
    if isinstance(content, str):
        return {content: depth}
    return {label: d for child in content for label, d in depths(child, depth).items()}


def test_newick_by_hand():
    assert CHAINED.to_newick() == "((((0:1,4:1):1,2:1):2,1:2):1,3:1);"


def test_newick_of_one_item():
    assert hb.PartitionTree([[0], [0]]).to_newick(["only"]) == "only;"


@pytest.mark.parametrize("n_items", [2, 3, 8, 15])
def test_newick_parses_back_to_the_folders(rng, n_items):
    tree = random_tree(rng, n_items)
    root = newick.parse(tree.to_newick())
    expected = {frozenset(map(str, items.tolist())) for partition in tree for items in partition}
    assert clades(root) == expected
    pruned = tree.pruned
    assert depths(root) == {
        str(item): float(pruned.first_level[pruned.leaves[item]]) for item in range(n_items)
    }


@pytest.mark.parametrize(
    "label", ["it's", "a b", "x,y", "(", "[c]", "k:v", "end;", "", 'say "x"', "tab\tbed"]
)
def test_newick_quotes_labels_that_need_it(label):
    labels = ["plain", label, "other", "last"]
    assert leaf_labels(newick.parse(HALVES.to_newick(labels))) == labels


def test_newick_keeps_underscores_in_labels():
    # Unquoted underscores stand for blanks in Newick.
    labels = ["layer_0", "layer_1", "a", "b"]
    assert leaf_labels(newick.parse(HALVES.to_newick(labels))) == labels


def test_json_holds_format_version_and_levels():
    assert json.loads(HALVES.to_json()) == {
        "format": "haarbor partition tree",
        "version": 1,
        "levels": [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]],
    }


def test_json_round_trip_gives_the_tree_back(rng):
    for n_items in (1, 2, 9):
        tree = random_tree(rng, n_items)
        assert hb.PartitionTree.from_json(tree.to_json()) == tree


head = '{"format": "haarbor partition tree", "version": 1, "levels": [['


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be JSON written by to_json"),
        ("[" * 100_000, "must be JSON written by to_json; maximum recursion depth"),
        (head + "9" * 5000 + "]]}", "must be JSON written by to_json; Exceeds the limit"),
        (head + "NaN, 0], [0, 1]]}", "integers; found dtype float64"),
        (head + "0, 0], [0, 1.5]]}", "integers; found dtype float64"),
        (head + "1e999, 0], [0, 1]]}", "integers; found dtype float64"),
        (head + "99999999999999999999999, 0], [0, 1]]}", "integers; found dtype object"),
        (head + '"a", "a"]]}', "integers; found dtype <U1"),
        (head.replace("[[", "[" * 900) + "0" + "]" * 900 + "}", "nested more than 64 deep"),
        (b"{}", "must be JSON written by to_json; found bytes. Read the file as text first"),
        (None, "must be JSON written by to_json; found NoneType"),
        ("[1, 2]", 'must hold "format"'),
        ('{"format": "other"}', 'must hold "format": "haarbor partition tree"'),
        ('{"format": "haarbor partition tree", "version": 2}', "must be of version 1; found 2"),
        ('{"format": "haarbor partition tree", "version": 1}', r"found shape \(\)"),
        (
            '{"format": "haarbor partition tree", "version": 1, "levels": [[0], [0, 1]]}',
            "must be a rectangle",
        ),
        ('{"format": "haarbor partition tree", "version": 1, "levels": [[0, 1], [0, 1]]}', "level 0 must be"),
    ],
)
def test_other_json_is_refused(text, message):
    with pytest.raises(hb.TreeError, match=message):
        hb.PartitionTree.from_json(text)


def test_networkx_graph_is_the_pruned_tree():
    graph = CHAINED.to_networkx()
    assert sorted(graph.edges) == [(0, 1), (0, 2), (1, 3), (1, 4), (3, 5), (3, 6), (5, 7), (5, 8)]
    assert [graph.nodes[folder]["size"] for folder in range(9)] == [5, 4, 1, 3, 1, 2, 1, 1, 1]
    assert [graph.nodes[folder]["level"] for folder in range(9)] == [0, 1, 1, 3, 3, 4, 4, 5, 5]
    assert {folder: data["item"] for folder, data in graph.nodes(data=True) if "item" in data} == {
        2: 3, 4: 1, 6: 2, 7: 0, 8: 4
    }  # fmt: skip


def test_networkx_missing_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(hb.TreeError, match="pip install networkx"):
        HALVES.to_networkx()


def test_drawing_shows_every_folder_once():
    assert CHAINED.render(["a", "b", "c", "d", "e"]).splitlines() == [
        "5 items",
        "├─ 4 items",
        "│  ├─ 3 items",
        "│  │  ├─ 2 items",
        "│  │  │  ├─ a",
        "│  │  │  └─ e",
        "│  │  └─ c",
        "│  └─ b",
        "└─ d",
    ]


def test_drawing_says_how_much_it_left_out():
    lines = CHAINED.render(max_lines=3).splitlines()
    assert lines[:3] == ["5 items", "├─ 4 items", "│  ├─ 3 items"]
    assert lines[3:] == ["... 6 more folders; raise max_lines to see them"]
    assert len(CHAINED.render(max_lines=9).splitlines()) == 9


@pytest.mark.parametrize("draw", ["to_newick", "render"])
def test_labels_must_be_one_an_item(draw):
    with pytest.raises(hb.TreeError, match="one text per item, 4; found 2"):
        getattr(HALVES, draw)(["a", "b"])


def test_control_characters_of_labels_are_drawn_as_escapes():
    drawn = CHAINED.render(["\x1b[2J", "b\r", "c\nd", "\ud800", "e"])
    assert drawn.isprintable() or set(filter(lambda letter: not letter.isprintable(), drawn)) == {"\n"}
    assert r"\x1b[2J" in drawn
    assert len(drawn.splitlines()) == len(CHAINED.render().splitlines())
