"""The documentation site: what it refers to is there, and nothing that is there is left out."""

import importlib
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


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    yield importlib.import_module("reference")
    sys.modules.pop("reference", None)


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
