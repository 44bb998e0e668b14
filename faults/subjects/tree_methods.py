"""What a tree can be asked, and distances between trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tests.reference import tree_metric as reference

import haarbor as hb
from faults.answers import difference
from faults.hostile_arrays import spoilt_array
from faults.hostile_settings import (
    random_tree,
    spoilt_number,
    spoilt_tree,
    spoilt_whole_number,
)
from faults.spoilt import Spoilt, one_of
from faults.subject import Call, subject

Rng = np.random.Generator


def _tree(rng: Rng) -> hb.PartitionTree:
    return random_tree(rng, int(rng.integers(2, 8)))


def _any_tree(rng: Rng, good: Any) -> Spoilt:
    found = spoilt_tree(rng, good)
    return found._replace(demand="either") if isinstance(found.value, hb.PartitionTree) else found


@subject("tree_distances")
def tree_distances(rng: Rng) -> Call:
    """Against the smallest common folder of every pair."""

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        levels = given["tree"].levels.tolist()
        items = range(len(levels[0]))
        expected = [[reference.tree_distance(levels, x, y) for y in items] for x in items]
        return difference(answer, np.array(expected), tol=1e-12)

    return Call(
        function=hb.tree_distances, arguments={"tree": _tree(rng)}, spoil={"tree": _any_tree}, law=law
    )


def _two_trees(rng: Rng, function: Any, expected: Any) -> Call:
    first = _tree(rng)
    second = random_tree(rng, first.n_items)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        levels = [given[name].levels.tolist() for name in ("first", "second")]
        return difference(answer, float(expected(*levels)), tol=1e-12)

    def fits(given: Mapping[str, Any]) -> bool:
        trees = [given[name] for name in ("first", "second")]
        return all(isinstance(tree, hb.PartitionTree) for tree in trees) and (
            trees[0].n_items == trees[1].n_items
        )

    return Call(
        function=function,
        arguments={"first": first, "second": second},
        spoil={"first": spoilt_tree, "second": spoilt_tree},
        law=law,
        fits=fits,
    )


@subject("partition_distance")
def partition_distance(rng: Rng) -> Call:
    """Against sums over all pairs."""
    return _two_trees(rng, hb.partition_distance, reference.partition_distance)


@subject("shared_folders")
def shared_folders(rng: Rng) -> Call:
    """Against sets of folders."""
    return _two_trees(rng, hb.shared_folders, reference.shared_folders)


@subject("tree.permuted")
def permuted(rng: Rng) -> Call:
    """Back and forth is the tree itself."""
    tree = _tree(rng)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        back = np.argsort(np.asarray(given["order"]))
        return None if answer.permuted(back) == tree else "its inverse does not give the tree back"

    def spoilt(rng: Rng, good: Any) -> Spoilt:
        wrong = (good[:-1], good + 1, good.astype(float) + 0.5, np.zeros_like(good), good[None], -good - 1)
        if rng.random() < 0.5:
            return Spoilt("no permutation", one_of(rng, wrong), "either")
        found = spoilt_array(rng, good.astype(np.float64))
        return found._replace(demand="refused" if found.demand == "refused" else "either", exponent=None)

    return Call(
        function=tree.permuted,
        arguments={"order": rng.permutation(tree.n_items)},
        spoil={"order": spoilt},
        law=law,
    )


@subject("tree.leaf_order")
def leaf_order(rng: Rng) -> Call:
    """A permutation in which every folder is a run."""
    tree = _tree(rng)

    def always(answer: Any, given: Mapping[str, Any]) -> str | None:
        if sorted(answer.tolist()) != list(range(tree.n_items)):
            return "not a permutation"
        for row in tree.levels[:, answer]:
            if int((np.diff(row) != 0).sum()) + 1 != len(np.unique(row)):
                return "a folder is torn apart"
        return None

    return Call(
        function=tree.leaf_order,
        arguments={"scores": rng.normal(size=tree.n_items)},
        spoil={
            "scores": lambda rng, good: (
                Spoilt("nothing", None, "either")
                if rng.random() < 0.1
                else _not_nothing(spoilt_array(rng, good))
            )
        },
        always=always,
        scaled=lambda answer, exponent: answer,
    )


def _not_nothing(found: Spoilt) -> Spoilt:
    return found._replace(demand="either") if found.value is None else found


@subject("tree folders")
def folder_queries(rng: Rng) -> Call:
    """Children, items, level and partition of a folder agree."""
    tree = _tree(rng)
    folder = int(rng.integers(tree.n_folders))

    def asked(folder: Any) -> Any:
        return tree.items(folder), tree.children(folder), tree.level_of(folder)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        items, children, level = answer
        below = [item for child in children for item in tree.items(int(child)).tolist()]
        if below and sorted(below) != items.tolist():
            return "the children do not hold the items"
        here = [part.tolist() for part in tree.folders(level)]
        return None if items.tolist() in here else "not a folder of its level"

    return Call(
        function=asked,
        arguments={"folder": folder},
        spoil={"folder": lambda rng, good: spoilt_whole_number(rng, good, least=0)},
        law=law,
    )


@subject("tree levels")
def level_queries(rng: Rng) -> Call:
    """A level is a partition of the items."""
    tree = _tree(rng)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        items = sorted(int(item) for part in answer for item in part)
        return None if items == list(range(tree.n_items)) else "not a partition"

    return Call(
        function=tree.folders,
        arguments={"level": int(rng.integers(tree.n_levels))},
        spoil={"level": lambda rng, good: spoilt_whole_number(rng, good, least=-tree.n_levels)},
        law=law,
    )


@subject("tree.weights")
def weights(rng: Rng) -> Call:
    """Powers of sizes and levels, written out; the copies of the pruned tree added."""
    tree = _tree(rng)

    def asked(alpha: Any, beta: Any) -> Any:
        return tree.weights(alpha, beta), tree.pruned.weights(alpha, beta)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        alpha, beta = given["alpha"], given["beta"]
        each = [
            (tree.items(f).size / tree.n_items) ** beta * 2.0 ** (-alpha * tree.level_of(f))
            for f in range(tree.n_folders)
        ]
        return difference(answer[0], np.array(each), tol=1e-12) or difference(
            float(answer[1].sum()), float(np.sum(each)), tol=1e-12
        )

    return Call(
        function=asked,
        arguments={"alpha": float(rng.uniform(-1, 2)), "beta": float(rng.uniform(-1, 2))},
        spoil={"alpha": spoilt_number, "beta": spoilt_number},
        law=law,
    )


@subject("tree as text")
def drawings(rng: Rng) -> Call:
    """Drawing and Newick text name every item once, whatever the names are."""
    tree = _tree(rng)

    def asked(labels: Any, max_lines: Any) -> Any:
        return tree.render(labels, max_lines=max_lines), tree.to_newick(labels)

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        lacking = [label for label in given["labels"] if label not in answer[0]]
        return f"the drawing lacks {lacking}" if lacking else None

    def always(answer: Any, given: Mapping[str, Any]) -> str | None:
        if any(letter in answer[0] for letter in "\x1b\x07\0\r"):
            return "control characters of a label reach the terminal"
        return None

    def spoilt(rng: Rng, good: Any) -> Spoilt:
        wrong: tuple[Any, ...] = (
            5,
            good[:-1],
            [*good, "x"],
            [1] * len(good),
            [None] * len(good),
            {},
            object(),
        )
        odd = [
            one_of(rng, ("\x1b[2J", "a\nb", "", "'", "\ud800", "<b>", "x" * 3000, "é", "\0")) for _ in good
        ]
        return one_of(
            rng, (Spoilt("no labels", one_of(rng, wrong), "refused"), Spoilt("odd labels", odd, "either")),
        )  # fmt: skip

    return Call(
        function=asked,
        arguments={"labels": [f"item-{place}" for place in range(tree.n_items)], "max_lines": 200},
        spoil={"labels": spoilt, "max_lines": lambda rng, good: spoilt_whole_number(rng, good, least=0)},
        law=law,
        always=always,
    )
