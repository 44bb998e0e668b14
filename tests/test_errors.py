import builtins
import re

import pytest

import haarbor as hb
from haarbor import errors

# Lines such as " ├─ ShapeError        (ValueError)    an array has ..."
DRAWN = dict(re.findall(r"(?m)^ [├└]─ (\w+Error) +\((\w+)\)", errors.__doc__))
WARNINGS = re.findall(r"(?m)^ [├└]─ (\w+Warning)", errors.__doc__)


def test_the_drawing_shows_every_error_and_warning():
    assert {"HaarborError", "HaarborWarning", *DRAWN, *WARNINGS} == set(errors.__all__)
    assert {"ShapeError", "TreeError", "EngineError"} <= set(DRAWN)


@pytest.mark.parametrize(("name", "builtin"), DRAWN.items())
def test_errors_are_haarbor_errors_and_the_builtin_a_caller_guesses(name, builtin):
    leaf = getattr(errors, name)
    assert issubclass(leaf, hb.HaarborError)
    assert issubclass(leaf, getattr(builtins, builtin))
    assert not issubclass(leaf, Warning)


@pytest.mark.parametrize("name", WARNINGS)
def test_warnings_are_user_warnings_and_not_errors(name):
    leaf = getattr(errors, name)
    assert issubclass(leaf, hb.HaarborWarning)
    assert issubclass(leaf, UserWarning)
    assert not issubclass(leaf, hb.HaarborError)
