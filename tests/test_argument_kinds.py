import numpy as np
import pytest

from haarbor.argument_kinds import (
    found_text,
    is_whole_number,
    require_function,
    require_kind,
    require_path,
    require_whole_number,
)
from haarbor.errors import SettingError


def test_what_was_found_is_one_short_line():
    assert found_text(np.zeros((40, 40))).startswith("array([[0., 0., 0.")
    assert len(found_text("x" * 1000)) == 60
    assert "\n" not in found_text(np.zeros((40, 40)))
    assert found_text("\x1b[2J") == r"'\x1b[2J'"


@pytest.mark.parametrize(
    ("value", "whole"),
    [
        (3, True), (np.int8(3), True), (-1, True), (True, False), (np.True_, False), (3.0, False),
        ("3", False), (None, False),
    ],
)  # fmt: skip
def test_whole_numbers_are_known(value, whole):
    assert is_whole_number(value) is whole


def test_a_whole_number_becomes_a_plain_one():
    assert type(require_whole_number("k", np.int64(3), 1)) is int
    for value in (0, 1.5, None, "3", True, float("nan")):
        with pytest.raises(
            SettingError, match=r"k must be a whole number from 1; found .*\. Pass such a number\."
        ):
            require_whole_number("k", value, 1)


def test_kinds_are_named_with_their_article():
    require_kind("run", "x", str, "")
    with pytest.raises(SettingError, match=r"^run must be an int or a str; found None\. Open it\.$"):
        require_kind("run", None, (int, str), "Open it.")


def test_functions_and_paths_are_told_from_others(tmp_path):
    require_function("on_progress", None)
    require_function("on_progress", print)
    with pytest.raises(SettingError, match=r"on_progress must be a function; found 3\. Pass one, or leave"):
        require_function("on_progress", 3)
    assert require_path("the file", tmp_path) == str(tmp_path)
    for value in (None, 3, b"x", "", "a\0b", ["x"]):
        with pytest.raises(
            SettingError, match=r"the file must be a path; found .* Pass its name as a text\."
        ):
            require_path("the file", value)
