import math

import numpy as np
import pytest

from haarbor import SettingError
from haarbor.options import bounded_seed, real_number, require_choice, require_flag, shown, whole_number


class Silent:
    def __repr__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.5, "2.5"),
        ("a\nb\x1b[31m", r"'a\nb\x1b[31m'"),
        (np.arange(3), "array([0, 1, 2])"),
        (Silent(), "an object of type Silent"),
    ],
)
def test_values_are_shown_on_one_line(value, text):
    assert shown(value) == text


def test_long_values_are_cut():
    # Python itself refuses to write numbers of so many digits.
    assert shown(10**5000) == shown(-(10**5000)) == "a whole number of 16610 bits"
    assert len(shown("x" * 1000)) <= 80
    assert "\n" not in shown(np.eye(30))


@pytest.mark.parametrize("value", [None, True, 2.0, "2", math.nan, 10**30, -1, 6, [3], np.array([3]), 1j])
def test_whole_numbers_are_whole_and_within_bounds(value):
    with pytest.raises(
        SettingError, match=r"k must be a whole number in 0\.\.5; found .*\. Pass one in 0\.\.5\."
    ):
        whole_number("k", value, 0, 5)


def test_numpy_numbers_become_plain_ones():
    assert type(whole_number("k", np.int16(3))) is int
    assert type(real_number("p", np.float32(0.5))) is float
    assert real_number("p", 3) == 3.0


@pytest.mark.parametrize("value", [None, True, "1", math.nan, math.inf, 10**400, [1.0], 1j, np.array(1.0), 0])
def test_real_numbers_are_finite_and_positive(value):
    with pytest.raises(SettingError, match=r"p must be positive and finite; found .* Pass such a number\."):
        real_number("p", value, positive=True)


@pytest.mark.parametrize("value", [-1e-9, 1.1, math.nan, None])
def test_real_numbers_lie_within_bounds(value):
    with pytest.raises(SettingError, match="p must lie between 0 and 1; found"):
        real_number("p", value, least=0, most=1)


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
        bounded_seed(value)
