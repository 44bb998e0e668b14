import os
import signal
import time

import pytest
from faults.forked_cases import forked_answer, forked_outcomes
from faults.kind import Kind
from faults.outcome import right

from faults import forked_cases

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def tried(function, seed, place):
    if seed == 2 and function == "hangs":
        time.sleep(60)
    if seed == 2 and function == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if seed == 2 and function == "leaves":
        os._exit(3)
    if seed == 2 and function == "raises":
        raise ZeroDivisionError("in the campaign itself")
    (place / "scratch").write_text("x")
    return right()


@pytest.fixture(autouse=True)
def quick_start(monkeypatch):
    monkeypatch.setattr(forked_cases, "_START_SECONDS", 0.0)


def found(function):
    kind = Kind(
        name="planted",
        title="planted",
        functions=lambda: {function: {"short": range(6), "long": range(6)}},
        tried=tried,
        limit_seconds=1.5,
        cases_per_process=4,
    )
    return sorted(forked_outcomes([(kind, kind.cases("short"))], workers=2))


def test_every_case_is_answered_once():
    assert [case.seed for case, outcome in found("works") if outcome.verdict == "right"] == list(range(6))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("hangs", "hung: no answer within 1.5 s"),
        ("dies", "the process died of SIGKILL"),
        ("leaves", "the process ended with code 3"),
        ("raises", "the campaign could not judge it"),
    ],
)
def test_a_case_that_takes_its_process_down_is_a_defect_and_the_others_go_on(function, reason):
    outcomes = {case.seed: outcome for case, outcome in found(function)}
    assert sorted(outcomes) == list(range(6))
    assert [seed for seed, outcome in outcomes.items() if outcome.verdict == "defect"] == [2]
    assert outcomes[2].reason.startswith(reason)


def test_an_answer_comes_from_a_process_of_its_own():
    assert forked_answer(os.getpid) != os.getpid()
    with pytest.raises(RuntimeError, match="could not be made"):
        forked_answer(lambda: 1 / 0)
