"""A library that is missing is found before the work, and the line names what to install."""

import sys

import pytest

from haarbor import stored_result
from haarbor.cli._libraries import require_library
from haarbor.errors import SettingError


@pytest.fixture
def missing(monkeypatch):
    """As if a library had not been installed."""

    # Rooms that are imported anew register their classes of results anew.
    for registry in ("_BY_NAME", "_BY_CLASS"):
        monkeypatch.setattr(stored_result, registry, dict(getattr(stored_result, registry)))

    def hide(library):
        for name in [name for name in sys.modules if name.partition(".")[0] == library]:
            monkeypatch.delitem(sys.modules, name)
        rooms = ("haarbor.plots", "haarbor.paper", "haarbor.report", "haarbor.capturing")
        for name in [name for name in sys.modules if name.startswith(rooms)]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, library, None)

    return hide


@pytest.mark.parametrize(
    ("library", "extra", "words"),
    [
        ("matplotlib", "report", ("invariance", "RUN")),
        ("matplotlib", "report", ("figures", "RUN", "-o", "out")),
        ("matplotlib", "report", ("demo",)),
        ("plotly", "report", ("demo",)),
        ("plotly", "report", ("report", "RUN")),
        ("torch", "models", ("demo",)),
    ],
)
def test_it_is_told_before_the_work(command, missing, new_run, tmp_path, monkeypatch, library, extra, words):
    monkeypatch.chdir(tmp_path)
    missing(library)
    found = command(*[str(new_run) if word == "RUN" else word for word in words])
    assert found.code == 1
    assert f"the {library} package, which is not installed. Run pip install 'haarbor[{extra}]'" in found.line
    assert not (new_run / "results" / "self").exists()
    assert list(tmp_path.iterdir()) == []


def test_what_needs_no_figures_needs_no_matplotlib(command, missing, new_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    missing("matplotlib")
    assert command("info", new_run).code == 0


def test_a_library_that_is_there_and_does_not_work_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("raise ImportError('libblas.so: cannot open')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingError, match=r"broken_library package, which does not work here \(libblas"):
        require_library("broken_library", user="a report", extra="report")
