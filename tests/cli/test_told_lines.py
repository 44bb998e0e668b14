"""Sentences on a terminal and through a pipe."""

import pytest

from haarbor.cli._told_lines import tell_lines

LONG = " ".join(["word"] * 40)
PATH = "  run  " + "x" * 100


@pytest.mark.parametrize("columns", [80, 0])
def test_a_terminal_gets_whole_words_in_its_width(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    tell_lines([LONG, PATH, "Next: " + LONG])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [PATH, "Next: " + LONG]
    assert " ".join(lines[:-2]) == LONG
    assert len(lines[:-2]) > 1
    assert max(map(len, lines[:-2])) <= 80


def test_a_pipe_gets_one_line_each(capsys):
    tell_lines([LONG, "red \x1b[31m"])
    assert capsys.readouterr().out.splitlines()[0] == LONG


def test_names_do_not_command_the_terminal(capsys):
    tell_lines(["red \x1b[31m"])
    assert "\x1b" not in capsys.readouterr().out
