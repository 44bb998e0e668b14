"""Every command that a page shows can be typed: it is there, and so are its options."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from haarbor.cli._app import app

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]
COMMANDS = typer.main.get_command(app).commands


def shown_lines(text):
    """Commands on lines of their own, without remarks; what goes on in the next line is one command."""
    joined = text.replace("\\\n", " ")
    lines = re.findall(r"^(?:\$ )?(haarbor [a-z].*?)(?:\s+#.*)?$", joined, flags=re.MULTILINE)
    return [part.strip() for line in lines for part in line.split("&&")]


def shown_words(text):
    """Commands within a sentence, of which arguments may be left out."""
    return [re.sub(r"\s+", " ", words) for words in re.findall(r"`(haarbor [a-z]+ [^`]*)`", text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_a_page_can_be_typed(page):
    text = page.read_text(encoding="utf-8")
    for line in shown_lines(text):
        _, name, *words = (word for word in shlex.split(line) if word != "...")
        COMMANDS[name].make_context(name, words)
    for line in shown_words(text):
        _, name, *words = line.split(" ")
        known = {option for given in COMMANDS[name].params for option in (*given.opts, *given.secondary_opts)}
        assert {word for word in words if word.startswith("-")} <= known, line


def test_there_are_commands_to_try():
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len(shown_lines(text)) for text in texts) > 60
    assert sum(len(shown_words(text)) for text in texts) > 30
    assert shown_lines("$ haarbor a b  # c\nhaarbor d \\\n  e && haarbor f\n") == [
        "haarbor a b",
        "haarbor d    e",
        "haarbor f",
    ]
