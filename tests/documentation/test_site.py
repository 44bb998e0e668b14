"""The documentation site: what it refers to is there, and nothing that is there is left out."""

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import haarbor as hb
from haarbor import plots

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if "_build" not in path.parts and "results" not in path.parts
)
# The command line has a page of its own.
INSIDE = {"cli"}
SECTIONS = (
    "Parameters", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes", "References", "Examples",
)  # fmt: skip


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    yield importlib.import_module("reference")
    sys.modules.pop("reference", None)


@pytest.fixture
def documented(reference):
    """Every object of the reference by its full name."""
    return {name: found(name) for of_room in reference.documented_names().values() for name in of_room}


def found(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def test_every_room_has_a_page_that_is_listed(reference):
    rooms = {path.parent.name for path in (ROOT / "src" / "haarbor").glob("*/__init__.py")} - INSIDE
    assert rooms <= set(reference.ROOMS)
    listed = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    for room in reference.ROOMS:
        assert re.search(rf"^{room}$", listed, flags=re.MULTILINE), room


def test_every_exported_name_is_on_a_page(reference):
    names = reference.documented_names()
    everything = [name for of_room in names.values() for name in of_room]
    assert len(everything) == len(set(everything))
    left_out = {f"haarbor.{name}" for name in hb.__all__} - set(everything)
    assert left_out == {"haarbor.__version__", "haarbor.datasets"}
    for room in reference.ROOMS:
        outer = room.partition(".")[0]
        for name in importlib.import_module(f"haarbor.{room}").__all__:
            places = {f"haarbor.{name}", f"haarbor.{room}.{name}", f"haarbor.{outer}.{name}"}
            assert places & {*names[room], *names[outer]}, name


def test_a_page_of_the_reference_tells_classes_from_functions_and_constants(reference):
    page = reference.room_page("trees", ["haarbor.PartitionTree", "haarbor.flexible_tree"])
    assert ".. autoclass:: haarbor.PartitionTree\n   :members:" in page
    assert ".. autofunction:: haarbor.flexible_tree" in page
    page = reference.room_page("errors", ["haarbor.HaarborError"])
    assert ".. autoexception:: haarbor.HaarborError" in page


def named_objects():
    for page in PAGES:
        for name in re.findall(
            r"\{(?:func|class|meth|data|attr)\}`~?(haarbor[\w.]*)`", page.read_text(encoding="utf-8")
        ):
            yield str(page.relative_to(DOCS)), name


def test_objects_that_pages_name_exist():
    found = list(named_objects())
    assert found
    for page, name in found:
        value = hb
        for part in name.split(".")[1:]:
            if not hasattr(value, part):
                value = importlib.import_module(f"{value.__name__}.{part}")
            else:
                value = getattr(value, part)
        assert value is not None, f"{page}: {name}"


def test_the_gallery_shows_every_figure():
    gallery = (DOCS / "gallery.md").read_text(encoding="utf-8")
    for name in plots.__all__:
        if name.endswith("_figure") and name != "save_figure":
            assert f"plots.{name}(" in gallery, name


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
    for name in set(hb.__all__) - {"datasets", "__version__"}:
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
