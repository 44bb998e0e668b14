import math

import numpy as np
import pytest

from haarbor import SettingError
from haarbor.options import (
    found_text,
    is_row,
    is_whole_number,
    require_choice,
    require_flag,
    require_function,
    require_kind,
    require_path,
    require_real_number,
    require_seed,
    require_whole_number,
)


class Silent:
    def __repr__(self):
        raise RuntimeError("no words")


class Hostile:
    def __repr__(self):
        return "clears\x1b[2J the\nscreen"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.5, "2.5"),
        ("a\nb\x1b[31m", r"'a\nb\x1b[31m'"),
        (np.arange(3), "array([0, 1, 2])"),
        (Hostile(), r"clears\x1b[2J the screen"),
        (Silent(), "an object of type Silent"),
    ],
)
def test_values_are_shown_on_one_line(value, text):
    assert found_text(value) == text


def test_long_values_are_cut():
    # Python itself refuses to write numbers of so many digits.
    assert found_text(10**5000) == found_text(-(10**5000)) == "a whole number of 16610 bits"
    assert len(found_text("x" * 1000)) <= 80
    assert found_text(np.eye(30)).startswith("array([[1., 0.")
    assert "\n" not in found_text(np.eye(30))


@pytest.mark.parametrize(
    ("value", "row"),
    [
        (["query"], True), (("query",), True), (np.arange(2), True), (np.eye(2), False),
        (np.array("q"), False), ("query", False), ({"query"}, False), (None, False),
    ],
)  # fmt: skip
def test_rows_are_sequences_and_arrays_of_one_axis(value, row):
    assert is_row(value) is row


@pytest.mark.parametrize("value", [None, True, 2.0, "2", math.nan, 10**30, -1, 6, [3], np.array([3]), 1j])
def test_whole_numbers_are_whole_and_within_bounds(value):
    with pytest.raises(
        SettingError, match=r"k must be a whole number in 0\.\.5; found .*\. Pass such a number\."
    ):
        require_whole_number("k", value, 0, 5)


def test_numpy_numbers_become_plain_ones():
    assert type(require_whole_number("k", np.int16(3))) is int
    assert type(require_real_number("p", np.float32(0.5))) is float
    assert require_real_number("p", 3) == 3.0


@pytest.mark.parametrize("value", [None, True, "1", math.nan, math.inf, 10**400, [1.0], 1j, np.array(1.0), 0])
def test_real_numbers_are_finite_and_positive(value):
    with pytest.raises(SettingError, match=r"p must be positive and finite; found .* Pass such a number\."):
        require_real_number("p", value, positive=True)


@pytest.mark.parametrize("value", [-1e-9, 1.1, math.nan, None])
def test_real_numbers_lie_within_bounds(value):
    with pytest.raises(SettingError, match="p must lie between 0 and 1; found"):
        require_real_number("p", value, least=0, most=1)


@pytest.mark.parametrize("value", [None, 3, "Exp", b"exp", ["exp"], np.array(["exp", "tanh"])])
def test_choices_are_texts_on_offer(value):
    with pytest.raises(SettingError, match="form must be one of 'exp', 'tanh'; found"):
        require_choice("form", value, ("exp", "tanh"))


@pytest.mark.parametrize("value", ["False", 0, 1, None, []])
def test_flags_are_true_or_false(value):
    with pytest.raises(SettingError, match="causal must be True or False; found"):
        require_flag("causal", value)


@pytest.mark.parametrize("value", [-1, 2**64, 1.0, None, "0", True])
def test_seeds_are_whole_numbers(value):
    with pytest.raises(SettingError, match="seed must be a whole number"):
        require_seed(value)


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
