import dataclasses
import inspect
from pathlib import Path

import numpy as np
import pytest
from faults.calls import KIND
from faults.hostile_arrays import spoilt_array
from faults.hostile_settings import spoilt_number
from faults.spoilt import Spoilt
from faults.subject import SUBJECTS, Call

import haarbor as hb
from haarbor.errors import DataError, SettingError

N_SEEDS = 150


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def total(X, power=1.0):
    """A sum that does everything right."""
    if isinstance(power, bool) or not isinstance(power, int | float) or not 0 < power < 100:
        raise SettingError("power must be a number from 0 to 100; found another. Pass 1.")
    try:
        array = np.asarray(X)
        masked = isinstance(X, np.ma.MaskedArray)
    except Exception:
        raise DataError("X must be an array of numbers; it is none. Pass one.") from None
    if masked or array.dtype.kind not in "fiub" or array.ndim != 2 or array.size == 0:
        raise DataError("X must be a matrix of real numbers; found another. Pass one.")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise DataError("X must be finite; it is not. Drop such entries.")
    with np.errstate(over="ignore"):
        answer = float(np.sum(array.astype(np.longdouble)) * np.longdouble(power))
    if not np.isfinite(answer):
        raise DataError("the sum must be a number; it is beyond all. Scale X first.")
    return answer


def outcomes(monkeypatch, function):
    """Outcomes of calls of a function that is to be `total`."""

    def make(rng):
        return Call(
            function=function,
            arguments={"X": rng.normal(size=(3, 4)), "power": 2.0},
            spoil={"X": spoilt_array, "power": lambda rng, good: spoilt_number(rng, good, least=0.0)},
            law=lambda answer, given: None if np.isclose(answer, 2 * given["X"].sum()) else "another sum",
            scaled=lambda answer, exponent: float(np.ldexp(answer, exponent)),
        )

    monkeypatch.setitem(SUBJECTS, "planted", make)
    place = Path.cwd()
    return [KIND.tried("planted", seed, place) for seed in range(N_SEEDS)]


def reasons(found):
    return " ".join(outcome.reason for outcome in found if outcome.verdict == "defect")


def test_a_function_without_a_fault_has_none(monkeypatch):
    def kind_to_numpy_scalars(X, power=1.0):
        return total(X, float(power) if isinstance(power, np.floating) else power)

    found = outcomes(monkeypatch, kind_to_numpy_scalars)
    assert reasons(found) == ""
    verdicts = [outcome.verdict for outcome in found]
    assert verdicts.count("right") > 40
    assert verdicts.count("refused") > 20


def test_a_wrong_answer_to_good_arguments_is_found(monkeypatch):
    assert "another sum" in reasons(outcomes(monkeypatch, lambda X, power: total(X, power) + 1e-3))


def test_nan_that_gets_through_is_found(monkeypatch):
    found = reasons(outcomes(monkeypatch, lambda X, power: float(np.sum(np.asarray(X, dtype=float)))))
    assert "answered what must be refused: nan" in found


def test_a_foreign_exception_is_found(monkeypatch):
    assert "TypeError" in reasons(outcomes(monkeypatch, lambda X, power: total(X.sum(axis=0)[None], power)))


def test_a_changed_argument_is_found(monkeypatch):
    def changing(X, power):
        answer = total(X, power)
        if isinstance(X, np.ndarray) and X.flags.writeable:
            X *= 2
        return answer

    assert "the argument X was changed" in reasons(outcomes(monkeypatch, changing))


def test_digits_lost_far_from_one_are_found(monkeypatch):
    found = outcomes(monkeypatch, lambda X, power: round(total(X, power), 30))
    assert "changed the answer" in reasons(found)


def test_another_answer_for_another_order_in_memory_is_found(monkeypatch):
    def careless(X, power):
        answer = total(X, power)
        return answer if not isinstance(X, np.ndarray) or X.flags.c_contiguous else answer + 1e-6

    assert "another answer than for the same in plain form" in reasons(outcomes(monkeypatch, careless))


def both_of_one_length(function):
    """A call whose arguments are both spoilt, to lists that fit each other."""
    return Call(
        function=function,
        arguments={"first": [1], "second": [2]},
        spoil={name: lambda rng, good: Spoilt("longer", [3, 4], "refused") for name in ("first", "second")},
        law=lambda answer, given: None if answer == given["first"] + given["second"] else "another list",
        fits=lambda given: len(given["first"]) == len(given["second"]),
    )


def added(first, second):
    if len(first) != len(second):
        raise DataError("lists must be as long as each other; they are not. Cut one.")
    return first + second


def test_spoilt_arguments_that_fit_each_other_must_be_answered(monkeypatch, scratch):
    monkeypatch.setitem(SUBJECTS, "planted", lambda rng: both_of_one_length(added))
    found = [KIND.tried("planted", seed, scratch) for seed in range(N_SEEDS)]
    assert reasons(found) == ""
    assert {outcome.verdict for outcome in found} == {"right", "refused"}


@pytest.mark.parametrize("wrong", [[], None])
def test_spoilt_arguments_that_fit_each_other_must_be_answered_rightly(monkeypatch, scratch, wrong):
    def careless(first, second):
        if first == second:
            if wrong is None:
                raise DataError("lists must be those expected; they are not. Pass others.")
            return wrong
        return added(first, second)

    monkeypatch.setitem(SUBJECTS, "planted", lambda rng: both_of_one_length(careless))
    found = reasons([KIND.tried("planted", seed, scratch) for seed in range(N_SEEDS)])
    assert ("a good input was refused" if wrong is None else "another list") in found


@pytest.mark.parametrize(("seed", "wrong"), [(129, 0.5), (129, np.nan), (264, 3.0), (1, np.inf), (2, 0.0)])
def test_a_centred_error_that_breaks_its_promise_is_found(monkeypatch, scratch, seed, wrong):
    assert KIND.tried("paraproduct", seed, scratch).verdict != "defect"
    make = SUBJECTS["paraproduct"]

    def planted(rng):
        call = make(rng)

        def function(**given):
            return dataclasses.replace(call.function(**given), centred_error=wrong)

        return dataclasses.replace(call, function=function)

    monkeypatch.setitem(SUBJECTS, "paraproduct", planted)
    assert "centred_error" in KIND.tried("paraproduct", seed, scratch).reason


def test_every_public_function_is_called():
    functions = {name for name in hb.__all__ if inspect.isfunction(getattr(hb, name))}
    assert functions <= set(SUBJECTS)


@pytest.mark.parametrize("name", ["haar_transform", "build_tree", "ranking_stability"])
def test_a_case_is_the_same_every_time(name, scratch):
    for seed in (0, 1, 2, 3):
        assert KIND.tried(name, seed, scratch)[:2] == KIND.tried(name, seed, scratch)[:2]


def test_the_long_form_makes_a_hundred_thousand_calls():
    assert len(KIND.cases("long")) >= 100_000
