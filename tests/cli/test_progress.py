"""Progress bars show names as they are."""

import io
import sys

from haarbor.cli._progress import shown_progress, shown_steps
from haarbor.compilation_notice import notify_compilation
from haarbor.printable import printable
from tests.cli.builders import HOSTILE_NAME


def test_a_progress_bar_shows_a_name_as_it_is(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("COLUMNS", "200")
    with shown_progress(f"one {HOSTILE_NAME}\ud800", 1) as advance:
        advance("step", 1, 1)
    with shown_steps() as told:
        told(f"two {HOSTILE_NAME}", 1, 1)
    lines = shown.getvalue().splitlines()
    assert [line.partition(" ━")[0] for line in lines if line] == [
        f"one {printable(HOSTILE_NAME)}\\ud800",
        f"two {printable(HOSTILE_NAME)}",
    ]


def test_a_person_who_waits_for_kernels_to_be_compiled_is_told_once(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with shown_steps():
        notify_compilation()
        notify_compilation()
    assert shown.getvalue().count("Compiling, the first time only") == 1
