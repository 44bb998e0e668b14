"""Every link of the README and the pages that stays inside the repository leads somewhere."""

import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
    ROOT / "benchmarks" / "RESULTS.md",
    ROOT / "training" / "README.md",
]


def prose(path):
    """Text of a page without its blocks of code."""
    return re.sub(
        r"^ *(```|~~~).*?^ *\1 *$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )


def links(text):
    """Targets of the links and pictures in a text that are no addresses."""
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"(?:src|href)=\"([^\"]+)\"", text)
    return [target for target in found if not re.match(r"[a-z]+:", target)]


@functools.cache
def anchors(path):
    """Places of a page that links can name: its headings, as GitHub and the site write them, and targets."""
    text, found = prose(path), []
    for heading in re.findall(r"^#{1,6} +(.*?) *$", text, flags=re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.append(f"{name}-{found.count(name)}" if name in found else name)
    return {*found, *re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_repository_lead_somewhere(page):
    for target in links(prose(page)):
        path, _, place = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.is_relative_to(ROOT), target
        assert file.exists(), target
        if place and file.suffix == ".md":
            assert place in anchors(file), target


def test_there_are_links_to_check_and_places_they_name():
    found = [target for page in PAGES for target in links(prose(page))]
    assert len(found) > 200
    assert sum("#" in target for target in found) > 15


def test_headings_are_named_as_on_github(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# `a_b` of [x](y.md), 2.5 %\n```\n# none\n```\n## Same\n## Same\n(here)=\n", encoding="utf-8"
    )
    assert anchors(page) == {"a_b-of-x-25-", "same", "same-1", "here"}
    assert links('[a](b.md#c) ![d](e.png) [f](https://g.org) <img src="h.svg">') == [
        "b.md#c",
        "e.png",
        "h.svg",
    ]
