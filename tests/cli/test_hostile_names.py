"""Names that come out of a run command neither the terminal nor the layout, and stay valid JSON."""

import importlib
import io
import json
import shutil
import sys

import pytest

from haarbor import datasets
from haarbor.cli._progress import shown_progress, shown_steps
from haarbor.printable import printable
from haarbor.store import RunPlan, StreamPlan, create_run, open_run

NAME = "[red]x[/] [/nope] \x1b]0;evil\x07\x1b[31m \u202e\x7f\x9b \r\n<b>"


def hostile_run(folder):
    """A run of a few heads with names that want to do harm wherever there is a name."""
    stream = StreamPlan(name="self", n_layers=2, n_heads=2, n_queries=12, n_keys=12)
    plan = RunPlan(
        model=NAME,
        streams=(stream,),
        n_batches=1,
        contents=("probabilities", "logits"),
        config_digest=NAME,
        settings={"mode": NAME, NAME: 1, "none": None},
        library_versions={NAME: NAME},
    )
    network = {
        content: datasets.synthetic_network(12, 2, 2, content=content)
        for content in ("probabilities", "logits")
    }
    with create_run(folder, plan) as writer, writer.batch(0) as batch:
        batch.write_mask("self", network["logits"].mask)
        for layer in range(2):
            heads = {
                content: made.tensor[:, :, 2 * layer : 2 * layer + 2].transpose(2, 0, 1)
                for content, made in network.items()
            }
            batch.write_layer("self", layer, heads)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory, without_drawings):
    return hostile_run(tmp_path_factory.mktemp("hostile") / "run")


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
def answered(request, run, command, tmp_path, monkeypatch):
    """The name of a command, and what gives its answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    words = [str(run) if word == "RUN" else word for word in COMMANDS[request.param]]
    return request.param, lambda *more: command(*words, *more)


def test_what_is_printed_is_printable(answered):
    name, answer = answered
    found = answer()
    assert found.code == 0, found.err
    assert printable(found.out, keep="\n") == found.out
    assert printable(found.err, keep="\n") == found.err
    assert printable(NAME) in found.out
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
    assert places.get(name, lambda: fields["model"])() == NAME


@pytest.mark.parametrize("columns", ["0", "1", "many"])
def test_a_terminal_without_columns_still_shows_something(command, run, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    assert "float32" in command("info", run).out


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_has_no_word_for_are_null(command, run, monkeypatch, value):
    monkeypatch.setattr(
        "haarbor.cli._organize_command._summary", lambda _run, _found: {"a": [value], "b": (1.5, value)}
    )
    found = command("organize", run, "--json")
    assert json.loads(found.out, parse_constant=pytest.fail) == {"a": [None], "b": [1.5, None]}


def test_a_progress_bar_shows_a_name_as_it_is(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("COLUMNS", "200")
    with shown_progress(f"one {NAME}\ud800", 1) as advance:
        advance("step", 1, 1)
    with shown_steps() as told:
        told(f"two {NAME}", 1, 1)
    lines = shown.getvalue().splitlines()
    assert [line.partition(" ━")[0] for line in lines if line] == [
        f"one {printable(NAME)}\\ud800",
        f"two {printable(NAME)}",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": None}, None),
        ({"model": 5}, None),
        ({"config_digest": 7}, None),
        ({"config_digest": None}, None),
        ({"settings": {"deep": [[[[NAME]]]]}}, None),
        ({"streams": [{"name": NAME}]}, "haarbor: "),
        ({"contents": [NAME]}, "haarbor: contents"),
        ({"n_batches": "x"}, "haarbor: "),
        ({"library_versions": None}, "haarbor: "),
    ],
)
def test_info_of_a_plan_that_somebody_else_wrote(command, run, tmp_path, changes, message):
    copy = shutil.copytree(run, tmp_path / "copy")
    document = json.loads((copy / "zarr.json").read_text())
    document["attributes"]["plan"].update(changes)
    (copy / "zarr.json").write_text(json.dumps(document))
    found = command("info", copy)
    # What a plan must hold is the store's to say; whatever it says is one line.
    assert found.err.count("\n") == found.code
    assert found.code == 1 or message is None
    assert printable(found.out + found.err, keep="\n") == found.out + found.err


def test_the_run_is_as_hostile_as_it_looks(run):
    assert open_run(run).model == NAME
