"""Scripts and styles of the page: all of them are in it, and a reader finds the Python behind each."""

from pathlib import Path

import pytest

import haarbor.report

REPORT = Path(haarbor.report.__file__).parent
ASSETS = REPORT / "assets"
SCRIPTS = sorted(ASSETS.rglob("*.js"))
# What is drawn with, and what is put together in the browser alone.
WITHOUT_PYTHON = ("drawing", "views")


@pytest.mark.parametrize(
    "asset", [*SCRIPTS, *sorted(ASSETS.rglob("*.css"))], ids=lambda path: path.relative_to(ASSETS).as_posix()
)
def test_every_script_and_style_is_in_the_page_once(page, asset):
    assert page.count(asset.read_text(encoding="utf-8")) == 1


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ASSETS).as_posix())
def test_a_script_is_named_like_the_python_that_feeds_it(script):
    name = script.relative_to(ASSETS)
    own_folder = f"{name.parent.name}/" if name.parent.name else ""
    has_python = any(REPORT.parent.rglob(f"{own_folder}_{script.stem}.py"))
    # After a module was renamed, its script wants the same name, here and in _page.py.
    assert has_python != (name.parts[0] in WITHOUT_PYTHON)
