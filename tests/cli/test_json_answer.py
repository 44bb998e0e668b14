"""Answers for programs are JSON, whatever is in them."""

import json

import pytest

from haarbor.cli._json_answer import echo_json
from tests.cli.builders import HOSTILE_NAME


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_has_no_word_for_are_null(capsys, value):
    echo_json({"a": [value], "b": (1.5, value)})
    shown = capsys.readouterr().out
    assert json.loads(shown, parse_constant=pytest.fail) == {"a": [None], "b": [1.5, None]}


def test_text_is_printed_in_plain_letters_that_no_terminal_obeys(capsys):
    echo_json({"name": HOSTILE_NAME})
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert all(letter.isprintable() or letter == "\n" for letter in shown)
    assert json.loads(shown) == {"name": HOSTILE_NAME}
