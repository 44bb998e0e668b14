"""Docstrings of what is exported: what they name under See Also is there, and relatives name each other."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import haarbor as hb

ROOT = Path(__file__).parents[2]
SECTIONS = (
    "Parameters",
    "Returns",
    "Yields",
    "Raises",
    "Warns",
    "See Also",
    "Notes",
    "References",
    "Examples",
)
ALONE = {"datasets", "__version__"}


@pytest.fixture(scope="module")
def documented():
    """Every object of the reference by its full name."""
    sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
    try:
        names = importlib.import_module("reference").documented_names()
    finally:
        sys.path.pop(0)
        sys.modules.pop("reference", None)
    return {name: found(name) for of_room in names.values() for name in of_room}


def found(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def section(text, title):
    """Lines below a heading of a docstring, up to the next one."""
    lines = inspect.cleandoc(text or "").splitlines()
    for number, line in enumerate(lines[:-1]):
        if line == title and set(lines[number + 1]) == {"-"}:
            rest = lines[number + 2 :]
            ends = [at for at in range(1, len(rest)) if rest[at] and set(rest[at]) == {"-"}]
            return [line for line in (rest[: ends[0] - 1] if ends else rest) if line.strip()]
    return []


def relatives(text):
    return [line.partition(" : ")[0] for line in section(text, "See Also")]


def test_a_section_ends_where_the_next_begins():
    text = """Title.

    See Also
    --------
    haarbor.organize : Trees.
    haarbor.haar_l1 : A norm.

    Notes
    -----
    Text.
    """
    assert relatives(text) == ["haarbor.organize", "haarbor.haar_l1"]
    assert section(text, "Notes") == ["Text."]
    assert section(text, "Examples") == []


def test_relatives_are_on_a_page_of_the_reference_and_are_said_in_words(documented):
    n_found = 0
    for name, value in documented.items():
        doc = getattr(value, "__doc__", None)
        named = relatives(doc)
        assert set(named) <= set(documented), name
        assert name not in named, name
        assert len(named) == len(set(named)), name
        assert all(re.fullmatch(r"haarbor\.[\w.]+ : [A-Z].*\.", line) for line in section(doc, "See Also")), (
            name
        )
        n_found += bool(named)
    assert n_found > 200


def test_every_function_and_class_says_what_it_is(documented):
    for name, value in documented.items():
        if isinstance(value, type) or inspect.isfunction(value):
            assert value.__doc__, name


def test_every_function_of_the_front_door_names_its_relatives():
    for name in set(hb.__all__) - ALONE:
        value = getattr(hb, name)
        if isinstance(value, type) and issubclass(value, (Exception, Warning)):
            continue
        assert relatives(value.__doc__), name


def test_every_figure_names_what_it_draws(documented):
    for name, value in documented.items():
        if (
            name.startswith("haarbor.plots.")
            and name.endswith("_figure")
            and name != "haarbor.plots.save_figure"
        ):
            assert relatives(value.__doc__), name


def test_sections_come_in_one_order(documented):
    for name, value in documented.items():
        doc = inspect.cleandoc(getattr(value, "__doc__", None) or "")
        titles = re.findall(r"^([A-Z][A-Za-z ]+)\n-{3,}$", doc, flags=re.MULTILINE)
        known = [SECTIONS.index(title) for title in titles if title in SECTIONS]
        assert known == sorted(known), name


def test_what_computes_something_says_its_equation():
    mathematical = (
        "cosine_affinity", "gaussian_affinity", "distance_affinity", "markov_spectrum", "diffusion_map",
        "tree_emd", "tree_distances", "partition_distance", "shared_folders", "flexible_tree", "binary_tree",
        "haar_tree", "haar_system", "haar_basis", "haar_transform", "inverse_haar_transform", "haar_l1",
        "head_entropy", "network_entropy", "holder_exponent", "ranking_stability", "paraproduct",
        "softmax_invariance", "consensus", "organize", "rank_collapse",
    )  # fmt: skip
    for name in mathematical:
        assert ":math:" in getattr(hb, name).__doc__ or ".. math::" in getattr(hb, name).__doc__, name
