"""What is said before something slow."""

from haarbor.cli._said_line import say


def test_it_is_one_line_on_stderr(capsys):
    say("Loading a\nb\x1b[31m ...")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert told.err[:-1].isprintable()
