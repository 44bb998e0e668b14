"""Names that come out of a run command neither the terminal nor the layout, and stay valid JSON."""

import importlib
import json

import pytest

from haarbor.printable import printable
from tests.cli.builders import HOSTILE_NAME


@pytest.fixture(scope="module")
def without_drawings():
    """No pictures: what is drawn is not looked at here."""
    with pytest.MonkeyPatch.context() as patch:
        module = importlib.import_module("haarbor.paper._paper_figures")
        patch.setattr(module, "_drawings", lambda _results: iter(()))
        patch.setattr("haarbor.plots.paraproduct_figure", lambda *_, **__: None)
        patch.setattr("haarbor.plots.save_figure", lambda _figure, path: path)
        yield


COMMANDS = {
    "info": ("info", "RUN", "--verify"),
    "organize": ("organize", "RUN"),
    "invariance": ("invariance", "RUN", "--out", "[bold]out[/]"),
    "report": ("report", "RUN", "-o", "[bold]page.html"),
    "figures": ("figures", "RUN", "-o", "[bold]out[/]", "--seeds", "0"),
}


@pytest.fixture(params=COMMANDS)
def answered(request, named_to_harm, without_drawings, command, tmp_path, monkeypatch):
    """The name of a command, and what gives its answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    words = [str(named_to_harm) if word == "RUN" else word for word in COMMANDS[request.param]]
    return request.param, lambda *more: command(*words, *more)


def test_what_is_printed_is_printable(answered):
    name, answer = answered
    found = answer()
    assert found.code == 0, found.err
    assert printable(found.out, keep="\n") == found.out
    assert printable(found.err, keep="\n") == found.err
    assert printable(HOSTILE_NAME) in found.out
    if name in ("invariance", "figures"):
        assert "[bold]out[/]" in found.out


def test_json_is_ascii_and_tells_the_name_as_it_is(answered):
    name, answer = answered
    found = answer("--json")
    assert found.code == 0, found.err
    assert found.out.isascii()
    assert printable(found.out, keep="\n") == found.out
    fields = json.loads(found.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    places = {"report": lambda: fields["models"][0], "figures": lambda: fields["networks"][0]["model"]}
    assert places.get(name, lambda: fields["model"])() == HOSTILE_NAME
