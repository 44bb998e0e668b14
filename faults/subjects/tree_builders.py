"""Trees from levels, linkages, texts and affinities."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from tests.reference.folders import folders_of_level
from tests.reference.haar_tree import haar_linkage, terms
from tests.reference.markov import markov_spectrum
from tests.reference.trees import binary_tree, flexible_tree

import haarbor as hb
from faults.answers import difference
from faults.good_values import good_affinity
from faults.hostile_arrays import spoilt_array
from faults.hostile_settings import random_tree, spoilt_choice, spoilt_number
from faults.spoilt import Spoilt, one_of
from faults.subject import Call, subject
from faults.subjects.spectra import spoilt_affinity

Rng = np.random.Generator


def _spoilt_levels(rng: Rng, good: Any) -> Spoilt:
    if rng.random() < 0.4:
        found = spoilt_array(rng, good.astype(np.float64))
        return found._replace(demand="refused" if found.demand == "refused" else "either", exponent=None)
    shape = tuple(int(size) for size in rng.integers(1, 5, size=2))
    levels = rng.integers(0, 3, size=shape)
    if rng.random() < 0.7:
        levels[0] = 0
        levels[-1] = np.arange(shape[1])
    return Spoilt("random levels", levels, "either" if _is_tree(levels.tolist()) else "refused")


def _is_tree(levels: list[list[int]]) -> bool:
    """One root, singletons at the end, and every folder inside one of the level above."""
    parts = [[set(folder) for folder in folders_of_level(row)] for row in levels]
    nested = all(
        any(folder <= above for above in upper) for upper, lower in pairwise(parts) for folder in lower
    )
    return nested and len(parts[0]) == 1 and len(parts[-1]) == len(levels[0])


def _has_levels(answer: Any, levels: Any) -> str | None:
    expected = [folders_of_level(row) for row in levels]
    found = [folders_of_level(row) for row in answer.levels.tolist()]
    return None if found == expected else f"its partitions are {found} in place of {expected}"


@subject("PartitionTree")
def partition_tree(rng: Rng) -> Call:
    """What is nested is a tree, and nothing else is."""
    levels = random_tree(rng, int(rng.integers(1, 8))).levels.copy()
    names = rng.permutation(50)
    return Call(
        function=one_of(rng, (hb.PartitionTree, hb.PartitionTree.from_levels)),
        arguments={"levels": names[levels]},
        spoil={"levels": _spoilt_levels},
        law=lambda answer, given: _has_levels(answer, given["levels"].tolist()),
        always=_is_consistent,
    )


@subject("PartitionTree.from_linkage")
def from_linkage(rng: Rng) -> Call:
    """Against the clusters of scipy at every height."""
    from scipy.cluster.hierarchy import linkage

    n_items = int(rng.integers(2, 8))
    joined = linkage(rng.normal(size=(n_items, 2)), one_of(rng, ("average", "single", "complete")))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        clusters: list[set[int]] = [{item} for item in range(n_items)]
        for one, other, *_ in given["linkage"].tolist():
            clusters.append(clusters[int(one)] | clusters[int(other)])
        found = {frozenset(items.tolist()) for partition in answer for items in partition}
        return None if found == set(map(frozenset, clusters)) else "not the clusters of the linkage"

    return Call(
        function=hb.PartitionTree.from_linkage,
        arguments={"linkage": joined},
        # Numbers of clusters are not measured, so they cannot be scaled.
        # Only the first two columns are looked at: the heights may be anything.
        spoil={"linkage": lambda rng, good: _not_scaled(spoilt_array(rng, good, gaps=True))},
        law=law,
        always=_is_consistent,
    )


def _not_scaled(found: Spoilt) -> Spoilt:
    return found if found.demand == "refused" else found._replace(demand="either", exponent=None)


@subject("PartitionTree.from_json")
def from_json(rng: Rng) -> Call:
    """The text gives the tree back; texts with a letter changed are refused or give a tree."""
    tree = random_tree(rng, int(rng.integers(1, 8)))

    def spoilt(rng: Rng, good: str) -> Spoilt:
        place = int(rng.integers(len(good)))
        deep = "[" * 100_000 + "]" * 100_000
        head = '{"format": "haarbor partition tree", "version": 1, "levels": '
        wrong: tuple[Any, ...] = (
            None, 5, b"{}", good.encode(), [], {}, "", "{}", "null", "[]", good[:place], good + "x", deep,
            head + deep + "}", head + "null}", head + "[[0, 1e999]]}", head + '[["a"]]}',
            head + "[[0], [0, 1]]}", head + "[[0, 0], [NaN, 1]]}", head + "[[" + "9" * 5000 + ", 0]]}",
            good.replace("1", "2", 1), "\x1b[2J",
        )  # fmt: skip
        letter = good[:place] + chr(int(rng.integers(32, 127))) + good[place + 1 :]
        return one_of(
            rng,
            (
                Spoilt("no tree", one_of(rng, wrong), "either"),
                Spoilt("a letter changed", letter, "either"),
                Spoilt("cut short", good[:place], "refused"),
            ),
        )

    return Call(
        function=hb.PartitionTree.from_json,
        arguments={"text": tree.to_json()},
        spoil={"text": spoilt},
        law=lambda answer, given: None if answer == tree else "another tree",
        always=_is_consistent,
    )


@subject("build_tree")
def build_tree(rng: Rng) -> Call:
    """Against the builders written out."""

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        affinity = given["affinity"].tolist()
        if given["tree"] == "binary":
            return _has_levels(answer, binary_tree(affinity, given["cut"]))
        return _has_levels(answer, flexible_tree(*markov_spectrum(affinity), given["tree_constant"]))

    return Call(
        function=hb.build_tree,
        arguments={
            "affinity": good_affinity(rng, int(rng.integers(3, 8))),
            "tree": one_of(rng, ("flexible", "binary")),
            "tree_constant": float(rng.uniform(0.3, 3)),
            "cut": one_of(rng, ("zero", "balanced")),
        },
        spoil={
            "affinity": spoilt_affinity,
            "tree": spoilt_choice,
            "tree_constant": _spoilt_constant,
            "cut": _spoilt_cut,
        },
        law=law,
        always=_is_consistent,
    )


def _spoilt_constant(rng: Rng, good: float) -> Spoilt:
    # Only the flexible tree looks at it.
    found = spoilt_number(rng, good, least=0.0)
    return found._replace(demand="either") if found.demand == "refused" else found


def _spoilt_cut(rng: Rng, good: str) -> Spoilt:
    # Only the binary tree looks at it.
    found = spoilt_choice(rng, good)
    return found._replace(demand="either") if found.demand == "refused" else found


@subject("flexible_tree")
def flexible(rng: Rng) -> Call:
    """Against joins written out."""
    affinity = good_affinity(rng, int(rng.integers(3, 8)))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        return _has_levels(answer, flexible_tree(*markov_spectrum(affinity.tolist()), given["constant"]))

    return Call(
        function=hb.flexible_tree,
        arguments={"spectrum": hb.markov_spectrum(affinity), "constant": float(rng.uniform(0.3, 3))},
        spoil={
            "spectrum": lambda rng, good: Spoilt(
                "no spectrum", one_of(rng, (None, affinity, 5, "x", [])), "refused"
            ),
            "constant": lambda rng, good: spoilt_number(rng, good, least=0.0),
        },
        law=law,
        always=_is_consistent,
    )


@subject("binary_tree")
def binary(rng: Rng) -> Call:
    """Against splits written out."""
    return Call(
        function=hb.binary_tree,
        arguments={
            "affinity": good_affinity(rng, int(rng.integers(3, 8))),
            "cut": one_of(rng, ("zero", "balanced")),
        },
        spoil={"affinity": spoilt_affinity, "cut": spoilt_choice},
        law=lambda answer, given: _has_levels(answer, binary_tree(given["affinity"].tolist(), given["cut"])),
        always=_is_consistent,
    )


@subject("haar_tree")
def haar(rng: Rng) -> Call:
    """Binary, and without restraint never worse than the joins alone, written out."""
    rows = rng.normal(size=(int(rng.integers(2, 8)), int(rng.integers(1, 6))))

    def law(answer: Any, given: Mapping[str, Any]) -> str | None:
        tree = _as_pairs(list(range(answer.n_items)), answer.levels.tolist())
        if tree is None:
            return "a folder has more than two children"
        values = np.asarray(given["rows"], dtype=np.float64).tolist()
        found, joined = terms(tree, values), terms(haar_linkage(values), values)
        if given["restraint"] == 0 and found > joined * (1 + 1e-6) + 1e-12:
            return f"its terms add up to {found}, those of the joins alone to {joined}"
        return None

    return Call(
        function=hb.haar_tree,
        arguments={"rows": rows, "restraint": float(one_of(rng, (0.0, 0.0, 0.01, 1.0)))},
        spoil={"rows": spoilt_array, "restraint": lambda rng, good: spoilt_number(rng, good, least=0.0)},
        law=law,
        always=_is_consistent,
    )


def _as_pairs(items: list[int], levels: list[list[int]]) -> Any:
    """A binary tree as nested pairs of its items; None if a folder has another number of children."""
    if len(items) == 1:
        return items[0]
    for row in levels:
        parts = [[item for item in items if row[item] == name] for name in {row[item] for item in items}]
        if len(parts) > 1:
            children = [_as_pairs(part, levels) for part in parts]
            return None if len(parts) != 2 or None in children else tuple(children)
    return None


def _is_consistent(answer: Any, given: Mapping[str, Any]) -> str | None:
    if not _is_tree(answer.levels.tolist()):
        return "its levels are not nested partitions"
    return difference(hb.PartitionTree.from_json(answer.to_json()).levels, answer.levels)
