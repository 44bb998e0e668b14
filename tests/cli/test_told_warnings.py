import warnings

from haarbor.cli._told_warnings import told_warnings
from haarbor.errors import HaarborWarning


def test_warnings_of_haarbor_are_one_line_and_others_as_ever(capsys):
    before = warnings.showwarning
    with told_warnings():
        warnings.simplefilter("always")
        warnings.warn("the model \x1b[2J is odd", HaarborWarning, stacklevel=1)
        warnings.warn("something else", RuntimeWarning, stacklevel=1)
    told = capsys.readouterr().err.splitlines()
    assert told[0] == r"haarbor: the model \x1b[2J is odd"
    assert "RuntimeWarning: something else" in told[1]
    assert warnings.showwarning is before
