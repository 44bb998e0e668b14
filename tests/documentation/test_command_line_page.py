"""What the page on the command line shows can be typed."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from haarbor.cli._app import app

PAGE = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
COMMANDS = typer.main.get_command(app).commands
SHOWN = [
    *re.findall(r"^(haarbor .*)$", PAGE, flags=re.MULTILINE),
    *re.findall(r"^\| `(haarbor [^`]*)` \|", PAGE, flags=re.MULTILINE),
]


def test_every_command_is_in_the_table():
    named = re.findall(r"^\| `haarbor (\w+)", PAGE, flags=re.MULTILINE)
    assert sorted(named) == sorted(COMMANDS)


@pytest.mark.parametrize("line", SHOWN)
def test_what_the_page_shows_can_be_typed(line):
    _, name, *words = shlex.split(line)
    COMMANDS[name].make_context(name, words)


def test_the_axes_of_the_table_are_those_that_are_found():
    from haarbor.cli._array_file import _guessed_axes

    shapes = {
        "two axes": (3, 4), "n x n x any": (3, 3, 4), "any x n x n": (4, 3, 3),
        "any x any x n x n": (4, 5, 3, 3), "five axes, the last two alike": (2, 4, 5, 3, 3),
    }  # fmt: skip
    for shape, sizes in shapes.items():
        assert f"| {shape} | {', '.join(_guessed_axes(sizes))} |" in PAGE
