import sys
import unicodedata

import pytest

from haarbor.printable import printable

EVERYTHING = "".join(map(chr, range(sys.maxunicode + 1)))


def test_what_a_reader_can_see_stays():
    plain = (
        "model-1.5 é 漢字 한국어 العربية नमस्ते 👩\u200d💻 \u0645\u06cc\u200c\u062e \\n $x_1$ <b>&amp; \ufe0f"
    )
    assert printable(plain) == plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;owned\x07", r"\x1b]0;owned\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("\x7f\x08", r"\x7f\x08"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\u202etxt.exe\u2066", r"\u202etxt.exe\u2066"),
        ("\u2028\u2029\x85", r"\u2028\u2029\x85"),
        ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
        ("half \udc80 pair \ud83d", r"half \udc80 pair \ud83d"),
        ("tag\U000e0041", r"tag\U000e0041"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_written_out(text, shown):
    assert printable(text) == shown


def test_no_control_surrogate_or_change_of_direction_is_left_of_all_letters():
    shown = printable(EVERYTHING)
    assert {unicodedata.category(letter) for letter in shown}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    turning = ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")
    assert {unicodedata.bidirectional(letter) for letter in shown}.isdisjoint(turning)
    assert len(shown.splitlines()) == 1
    shown.encode("utf-8")


def test_twice_is_once():
    once = printable(EVERYTHING)
    assert printable(once) == once


def test_letters_may_be_kept_and_anything_has_a_text():
    assert printable("one\n\ttwo\x1b", keep="\n\t") == "one\n\ttwo\\x1b"
    assert printable(None) == "None"
    assert printable(ValueError("bad \x1b[2J")) == r"bad \x1b[2J"
