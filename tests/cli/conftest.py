"""A command in this process, and rights that bind even where the tests run as root."""

import importlib
import os
import signal
import sys
from typing import NamedTuple

import pytest

from haarbor.cli import main

_NOBODY = 65534
_NEEDED = (
    "haarbor.plots",
    "haarbor.report",
    "haarbor.store._local_keys",
    "haarbor.store._remote_keys",
    "plotly.offline",
    "rich.table",
    "zarr.storage",
)


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def line(self):
        """The one line that says what is wrong."""
        (line,) = [line for line in self.err.splitlines() if line.startswith("haarbor:")]
        return line


@pytest.fixture
def command(monkeypatch, capsys):
    """Run a command in this process; anything but an exit, such as a traceback, fails the test."""
    before = signal.getsignal(signal.SIGINT)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["haarbor", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return Answer(left.value.code or 0, *capsys.readouterr())

    yield run
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def without_rights():
    """The rights of a stranger, who may not enter folders of mode 0."""
    # While there is still a right to read them.
    for module in _NEEDED:
        importlib.import_module(module)
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(_NOBODY)
    yield
    os.seteuid(0)
