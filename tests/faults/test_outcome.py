import pytest
from faults.outcome import defect, refusal_fault, refused


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("k must be at least 1; found 0. Ask for one or more.", None),
        ("`k` must be 1 (not 0.5). Pass k=1.", None),
        ("k must be at least 1; found 0.", "does not say what to do"),
        ("found 0.5 at 3.", "does not say what to do"),
        ("", "is empty"),
        ("  ", "is empty"),
        ("one line. And\nanother. Do this.", "is more than a line, or holds control characters"),
        ("an \x1b[2J escape. Do this.", "is more than a line, or holds control characters"),
        ("half a \ud800 pair. Do this.", "is more than a line, or holds control characters"),
        ("turned \u202e round. Do this.", "is more than a line, or holds control characters"),
        ("x" * 700 + ". Do this.", "has 710 characters"),
    ],
)
def test_a_refusal_is_one_readable_line_that_says_what_to_do(text, fault):
    assert refusal_fault(text) == fault


def test_a_refusal_that_is_none_is_a_defect():
    assert refused("k must be 1; found 0. Pass 1.").verdict == "refused"
    assert refused("no.").verdict == "defect"


def test_a_defect_can_be_printed_whatever_it_holds():
    reason = defect("odd \x1b[2J \ud800 " + "x" * 5000).reason
    assert "\x1b" not in reason
    assert reason.isprintable()
    assert len(reason) <= 600
