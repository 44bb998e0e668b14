import warnings

import pytest
from faults.judged_call import judged

from haarbor.errors import AffinityWarning, DataError

GOOD = "entries must be finite; found nan. Drop them."


def raising(error):
    def act():
        raise error

    return act


def warning(category, text):
    def act():
        warnings.warn(text, category, stacklevel=1)
        return 1

    return act


def test_an_answer_is_right_and_a_haarbor_error_a_refusal():
    assert judged(lambda: 1).verdict == "right"
    assert judged(raising(DataError(GOOD))).verdict == "refused"
    assert judged(warning(AffinityWarning, "two slices are zero. Drop them.")).verdict == "right"


@pytest.mark.parametrize(
    "act",
    [
        raising(ValueError("foreign")),
        raising(MemoryError()),
        raising(RecursionError("deep")),
        raising(SystemExit(3)),
        raising(DataError("no advice.")),
        raising(DataError("two\nlines. Do this.")),
        warning(RuntimeWarning, "overflow"),
        warning(AffinityWarning, "no advice"),
    ],
)
def test_everything_else_is_a_defect(act):
    assert judged(act).verdict == "defect"


def test_what_is_demanded_must_happen():
    assert judged(lambda: 1, demand="refused").verdict == "defect"
    assert judged(raising(DataError(GOOD)), demand="right").verdict == "defect"
    assert judged(raising(DataError(GOOD)), demand="refused").verdict == "refused"


def test_a_broken_law_is_a_defect_and_so_is_an_answer_that_cannot_be_looked_at():
    assert judged(lambda: 1, lambda answer: "one too many").reason == "one too many"
    assert judged(lambda: 1, lambda answer: answer.nothing).verdict == "defect"
