"""Trees in the formats of other programs, Newick, JSON and networkx, and drawn as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from haarbor.array_types import AnyArray, plain_array
from haarbor.errors import ShapeError, TreeError
from haarbor.options import found_text, is_row, require_whole_number
from haarbor.printable import printable

if TYPE_CHECKING:
    import networkx

    from haarbor.trees._partition_tree import PartitionTree

__all__ = ["json_text", "levels_from_json", "networkx_graph", "newick", "text_drawing"]

_FORMAT = "haarbor partition tree"
_VERSION = 1


def json_text(tree: PartitionTree) -> str:
    """JSON text of a tree.

    Examples
    --------
    >>> from haarbor import PartitionTree
    >>> json_text(PartitionTree([[0, 0], [0, 1]]))
    '{"format": "haarbor partition tree", "version": 1, "levels": [[0, 0], [0, 1]]}'
    """
    return json.dumps({"format": _FORMAT, "version": _VERSION, "levels": tree.levels.tolist()})


def levels_from_json(text: str) -> AnyArray:
    """Levels of a tree from the text that :func:`json_text` wrote."""
    if not isinstance(text, str):
        raise TreeError(
            f"the text must be JSON written by to_json; found {type(text).__name__}. "
            "Read the file as text first."
        )
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        # Also raised by numbers with thousands of digits and by lists that are nested very deeply.
        raise TreeError(
            f"the text must be JSON written by to_json; {error}. Write the tree to a file again."
        ) from None
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise TreeError(f'the JSON must hold "format": "{_FORMAT}". Write it with to_json.')
    if found.get("version") != _VERSION:
        raise TreeError(
            f"the tree must be of version {_VERSION}; found {found_text(found.get('version'))}. "
            "Read it with the Haarbor that wrote it."
        )
    try:
        return plain_array(found.get("levels"), "the array of levels")
    except ShapeError as error:
        raise TreeError(f"levels must be a rectangle of folder numbers; {error}") from None


def newick(tree: PartitionTree, labels: Sequence[str] | None = None) -> str:
    """Newick text of a tree, with branch lengths counted in levels.

    Examples
    --------
    >>> from haarbor import PartitionTree
    >>> newick(PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]]), ["a", "b", "it's"])
    "((a:1,b:1):1,'it''s':1);"
    """
    pruned = tree.pruned
    names = ["'" + name.replace("'", "''") + "'" if _needs_quotes(name) else name
             for name in _checked_labels(tree, labels)]  # fmt: skip
    texts: list[str] = [""] * pruned.n_folders
    for folder in range(pruned.n_folders - 1, -1, -1):
        children = sorted(pruned.children_of(folder), key=lambda child: pruned.first_item[child])
        text = (
            "(" + ",".join(texts[child] for child in children) + ")"
            if children
            else names[pruned.first_item[folder]]
        )
        if folder:
            length = pruned.first_level[folder] - pruned.first_level[pruned.parents[folder]]
            text += f":{length}"
        texts[folder] = text
    return texts[0] + ";"


def networkx_graph(tree: PartitionTree) -> networkx.DiGraph[Any]:
    """Directed graph of the pruned tree.

    Nodes are folder numbers of ``tree.pruned`` with the attributes ``size``, ``level`` and, for
    singletons, ``item``; edges go from parent to child.
    """
    try:
        import networkx as nx
    except ImportError:
        raise TreeError(
            "to_networkx needs the networkx package. Install it with pip install networkx."
        ) from None
    pruned = tree.pruned
    graph: networkx.DiGraph[Any] = nx.DiGraph()
    for folder in range(pruned.n_folders):
        graph.add_node(folder, size=int(pruned.sizes[folder]), level=int(pruned.first_level[folder]))
        if pruned.sizes[folder] == 1:
            graph.nodes[folder]["item"] = int(pruned.first_item[folder])
        if folder:
            graph.add_edge(int(pruned.parents[folder]), folder)
    return graph


def text_drawing(tree: PartitionTree, labels: Sequence[str] | None = None, *, max_lines: int = 200) -> str:
    """Drawing of the pruned tree in text, children below their parent.

    In trees of more than 20 levels, a chain of folders from which small parts come off is one folder.

    Examples
    --------
    >>> from haarbor import PartitionTree
    >>> print(text_drawing(PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]]), ["a", "b", "c"]))
    3 items
    ├─ 2 items
    │  ├─ a
    │  └─ b
    └─ c
    """
    from haarbor.trees._collapsed_chains import drawn_tree

    drawn = drawn_tree(tree)
    pruned = drawn.tree.pruned
    most_lines = require_whole_number("max_lines", max_lines, 1)
    names = [printable(label) for label in _checked_labels(tree, labels)]
    lines: list[str] = []
    stack = [(0, "", "")]
    while stack and len(lines) < most_lines:
        folder, lead, indent = stack.pop()
        size = int(pruned.sizes[folder])
        title = names[pruned.first_item[folder]] if size == 1 else f"{size} items"
        if drawn.steps[folder] > 1:
            title += f", apart in {drawn.steps[folder]} steps"
        lines.append(lead + title)
        children = sorted(
            (int(child) for child in pruned.children_of(folder)),
            key=lambda child: int(pruned.first_item[child]),
        )
        for child in reversed(children):
            last = child == children[-1]
            stack.append((child, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  ")))
    if stack:
        lines.append(f"... {pruned.n_folders - len(lines)} more folders; raise max_lines to see them")
    return "\n".join(lines)


def _needs_quotes(name: str) -> bool:
    # An underscore outside quotes is read as a space.
    return not name or any(letter in " \t\n()[]{}:;,'\"_" for letter in name)


def _checked_labels(tree: PartitionTree, labels: Sequence[str] | None) -> Sequence[str]:
    if labels is None:
        return [str(item) for item in range(tree.n_items)]
    texts = list(labels) if is_row(labels) else []
    if len(texts) != tree.n_items or not all(isinstance(text, str) for text in texts):
        found = f"{len(texts)} of them" if texts else found_text(labels)
        raise TreeError(
            f"labels must hold one text per item, {tree.n_items}; found {found}. Pass a list of texts, "
            "in the order of the items."
        )
    return texts
