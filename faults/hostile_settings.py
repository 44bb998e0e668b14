"""Everything that may be passed where a number, a choice, names of axes, a mask or trees are wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from faults.spoilt import Spoilt, one_of
from haarbor import PartitionTree

__all__ = [
    "random_tree",
    "spoilt_axes",
    "spoilt_choice",
    "spoilt_mask",
    "spoilt_number",
    "spoilt_seed",
    "spoilt_text",
    "spoilt_tree",
    "spoilt_trees",
    "spoilt_whole_number",
]

Rng = np.random.Generator

# What is no number of any kind, wherever it is passed.
_NO_NUMBERS: tuple[Any, ...] = (
    "3", "", "\x1b[31m", b"3", 1j, [], [1], {}, {"query": "x"}, (1, 2), object(), np.array([1.0, 2.0]),
    np.nan, float("nan"), sum, int, np.datetime64("2020-01-01"),
)  # fmt: skip


def random_tree(rng: Rng, n_items: int) -> PartitionTree:
    """Unequal folders, chains, early singletons, repeated levels; as deep as chance makes it."""
    rows = [np.zeros(n_items, dtype=int)]
    for _ in range(int(rng.integers(0, 4))):
        parts = rng.choice(3, size=n_items, p=[0.6, 0.3, 0.1])
        rows.append(np.unique(3 * rows[-1] + parts, return_inverse=True)[1])
    return PartitionTree(np.stack([*rows, np.arange(n_items)]))


def spoilt_number(
    rng: Rng, good: Any, *, least: float | None = None, optional: bool = False, endless: bool = False
) -> Spoilt:
    """Something else in place of a number.

    Parameters
    ----------
    rng : Generator
    good : float
    least : float, optional
        What it may not fall below, if anything is.
    optional, endless : bool, default False
        Whether None, and whether infinity, may have a meaning.
    """
    options: list[Spoilt] = [
        Spoilt("no number", one_of(rng, _NO_NUMBERS), "refused"),
        Spoilt("nothing", None, "either" if optional else "refused"),
        Spoilt("endless", one_of(rng, (np.inf, -np.inf)), "either" if endless else "refused"),
        Spoilt("huge", one_of(rng, (1e308, -1e308, 1e30, 10**400, -(10**400), 1e-308, 5e-324)), "either"),
        Spoilt("another type", one_of(rng, (Decimal("0.5"), Fraction(1, 2), True, np.bool_(True))), "either"),
        Spoilt("another type", one_of(rng, (np.float16(0.5), np.int8(1), np.longdouble(0.5))), "either"),
    ]
    if not isinstance(good, Mapping):
        options.append(Spoilt("the same of numpy", np.float64(good), "same"))
        options.append(Spoilt("the same of numpy", np.array(float(good)), "alike"))
    if least is not None:
        options.append(Spoilt("too small", one_of(rng, (least - 1.0, least - 1e-9, -1e300)), "refused"))
    return one_of(rng, options)


def spoilt_whole_number(rng: Rng, good: int, *, least: int = 1, optional: bool = False) -> Spoilt:
    """Something else in place of a whole number from `least`."""
    return one_of(
        rng,
        (
            Spoilt("no number", one_of(rng, _NO_NUMBERS), "refused"),
            Spoilt("nothing", None, "either" if optional else "refused"),
            Spoilt("endless", one_of(rng, (np.inf, -np.inf)), "refused"),
            Spoilt("not whole", one_of(rng, (2.5, np.float64(1.5), 1e-9)), "refused"),
            Spoilt(
                "too small", one_of(rng, (least - 1, least - 2, -(10**30), np.int64(least - 1))), "refused"
            ),
            Spoilt("huge", one_of(rng, (10**30, 2**63, 2**63 - 1, 2**31)), "either"),
            Spoilt("a truth value", one_of(rng, (True, False, np.bool_(True))), "either"),
            Spoilt("the same as a float", float(good), "alike"),
            Spoilt("the same of numpy", one_of(rng, (np.int64, np.int32, np.uint8))(good), "same"),
            Spoilt("the same of numpy", np.array(good), "alike"),
        ),
    )


def spoilt_seed(rng: Rng, good: int) -> Spoilt:
    """Something else in place of a seed."""
    return one_of(
        rng,
        (
            Spoilt("no number", one_of(rng, _NO_NUMBERS[:3]), "refused"),
            Spoilt("negative", one_of(rng, (-1, -(2**63), np.int64(-5))), "refused"),
            Spoilt("not whole", 2.5, "refused"),
            Spoilt("huge", one_of(rng, (2**63, 10**40)), "either"),
            Spoilt("the same of numpy", np.int64(good), "same"),
        ),
    )


def spoilt_choice(rng: Rng, good: str, *, optional: bool = False) -> Spoilt:
    """Something else in place of one of some words."""
    wrong: tuple[Any, ...] = (
        "", "nonsense", good.upper() + " ", b"cosine", 0, 1.5, True, [good], {good: 1}, {good}, object(),
        "\x1b[31mred", "\ud800", "x" * 5000, np.nan,
    )  # fmt: skip
    return one_of(
        rng,
        (
            *(Spoilt("no choice", value, "refused") for value in wrong),
            Spoilt("an array of one", np.array([good]), "either"),
            Spoilt("nothing", None, "either" if optional else "refused"),
            Spoilt("the same of numpy", np.str_(good), "same"),
        ),
    )


def spoilt_text(rng: Rng, good: str) -> Spoilt:
    """Something else in place of a text."""
    wrong = (None, 5, b"text", ["a"], object(), np.nan)
    odd = ("", "\x1b]0;title\x07", "\ud800", "<script>alert(1)</script>", "x" * 5000, "a\nb", "..", "/", "\0")
    return one_of(
        rng,
        (Spoilt("no text", one_of(rng, wrong), "either"), Spoilt("an odd text", one_of(rng, odd), "either")),
    )


def spoilt_axes(rng: Rng, good: Sequence[str]) -> Spoilt:
    """Something else in place of the names of the axes."""
    names = tuple(good)
    wrong: tuple[Any, ...] = (
        names[:-1], (*names, "more"), (names[0],) * len(names), names[0], "", 5, (None,) * len(names),
        range(len(names)), ({},) * len(names), ([],) * len(names), object(), b"query", {1, 2, 3},
        (*names[:-1], "\x1b[2Jkey"), (*names[:-1], "\ud800"),
    )  # fmt: skip
    return one_of(
        rng,
        (
            *(Spoilt("no names of axes", value, "refused") for value in wrong[:13]),
            *(Spoilt("odd names of axes", value, "either") for value in wrong[13:]),
            Spoilt("a list", list(names), "same"),
            Spoilt("a generator", (name for name in names), "either"),
        ),
    )


def spoilt_mask(rng: Rng, good: Any, shape: tuple[int, int]) -> Spoilt:
    """Something else in place of a mask of `shape`, True where an entry is valid."""
    valid = np.ones(shape, dtype=bool) if good is None else np.asarray(good)
    wrong: tuple[Any, ...] = (
        np.zeros(shape, bool), valid.astype(int), valid.astype(float), np.where(valid, 0.0, -np.inf),
        "causal ", 5, valid[:-1], valid[..., None, None, None, None], valid.astype(str), {}, object(),
        [[True], [True, False]], valid.astype(object), 1j, b"mask",
    )  # fmt: skip
    closed = valid.copy()
    closed[int(rng.integers(shape[0]))] = False
    return one_of(
        rng,
        (
            *(Spoilt("no mask", value, "refused") for value in wrong),
            Spoilt("a row closed", closed, "either"),
            Spoilt("a column closed", closed.T if shape[0] == shape[1] else closed, "either"),
            Spoilt("one entry open", np.eye(1, valid.size).reshape(shape).astype(bool), "either"),
            Spoilt("a list", valid.tolist(), "same", valid),
            Spoilt("read-only", np.broadcast_to(valid, shape), "same", valid),
        ),
    )


def spoilt_tree(rng: Rng, good: PartitionTree) -> Spoilt:
    """Something else in place of a tree."""
    n_items = good.n_items
    wrong: tuple[Callable[[], Any], ...] = (
        lambda: None,
        lambda: good.levels,
        lambda: good.levels.tolist(),
        lambda: good.pruned,
        lambda: good.to_json(),
        lambda: "tree",
        lambda: 5,
        lambda: PartitionTree,
        lambda: {"query": good},
        lambda: random_tree(rng, n_items + 1),
        lambda: random_tree(rng, n_items - 1) if n_items > 1 else None,
        lambda: random_tree(rng, 40),
    )
    return one_of(
        rng,
        (
            *(Spoilt("no tree that fits", one_of(rng, wrong)(), "refused") for _ in range(6)),
            Spoilt("the same tree built anew", PartitionTree(good.levels.tolist()), "same"),
            Spoilt("the flattest tree", PartitionTree([[0] * n_items, list(range(n_items))]), "either"),
        ),
    )


def spoilt_trees(
    rng: Rng, good: Mapping[str, PartitionTree], *, all_needed: bool = True, spare_refused: bool = True
) -> Spoilt:
    """Something else in place of trees by axis.

    Parameters
    ----------
    rng : Generator
    good : mapping of axis name to PartitionTree
    all_needed : bool, default True
        Whether none of them may be missing.
    spare_refused : bool, default True
        Whether one on an axis that is not there must be refused, as where it may be a slip of the pen
        that leaves an axis without its tree.
    """
    if rng.random() < 0.5 and good:
        axis = one_of(rng, good)
        one = spoilt_tree(rng, good[axis])
        like = None if one.demand != "same" else dict(good)
        return Spoilt(f"{axis}: {one.name}", {**good, axis: one.value}, one.demand, like)
    first = next(iter(good.values()), PartitionTree([[0, 0], [0, 1]]))
    wrong: tuple[Any, ...] = (
        None, 5, "query", list(good), list(good.values()), first, [("query", first)], object(),
    )  # fmt: skip
    spare = {**good, one_of(rng, ("nowhere", 3, None, "\x1b[2J")): first}
    missing = dict(list(good.items())[1:])
    return one_of(
        rng,
        (
            *(Spoilt("no trees by axis", value, "refused") for value in wrong),
            Spoilt("a tree missing", missing, "refused" if all_needed else "either"),
            Spoilt("a tree on no axis", spare, "refused" if spare_refused else "either"),
            Spoilt("a tree on no axis", spare, "refused" if spare_refused else "either"),
            Spoilt("no tree at all", {}, "refused" if all_needed else "either"),
        ),
    )
