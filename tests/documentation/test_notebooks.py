"""The example notebooks run from top to bottom, show what they say, and keep small outputs."""

import ast
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))
# Plotly figures would be kept as megabytes of script.
WITHOUT_OUTPUTS = {"heads_in_a_notebook"}
RUN = [path for path in NOTEBOOKS if path.stem not in WITHOUT_OUTPUTS]


def code_cells(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown_values(cells):
    """Run the code cells in one scope, as a notebook does; what each shows."""
    scope = {"__name__": "__main__"}
    for cell in cells:
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), scope)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), scope)
            if value is not None:
                yield value
    for value in scope.values():
        if isinstance(value, TemporaryDirectory):
            value.cleanup()


def without_numbers(text):
    """Numbers differ from machine to machine in their last digits, and those of trainings more."""
    return re.sub(r"[-+]?\d[\d.]*", "#", text)


def kept_text(cells):
    outputs = [output for cell in cells for output in cell["outputs"]]
    return "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")


def test_there_are_notebooks_to_begin_with():
    assert len(NOTEBOOKS) >= 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_with_small_outputs_that_say_nothing_of_the_machine(path):
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert len(text) < 200_000
    outputs = [output for cell in code_cells(path) for output in cell["outputs"]]
    assert bool(outputs) == (path.stem not in WITHOUT_OUTPUTS)
    for output in outputs:
        assert output["output_type"] in {"display_data", "execute_result"} or output["name"] == "stdout"
    assert not re.search(r"/(tmp|home|work|dev|root|usr)/", kept_text(code_cells(path)))


@pytest.fixture
def left_as_it_was():
    """What notebooks set for the whole process."""
    torch = pytest.importorskip("torch")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    logging = pytest.importorskip("transformers").utils.logging
    n_threads = torch.get_num_threads()
    with_bars = logging.is_progress_bar_enabled()
    yield
    torch.set_num_threads(n_threads)
    pyplot.close("all")
    if with_bars:
        logging.enable_progress_bar()


@pytest.mark.slow
@pytest.mark.usefixtures("left_as_it_was")
@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_notebooks_run_and_show_what_they_keep(path, tmp_path, monkeypatch, capsys):
    from matplotlib.figure import Figure

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cells = code_cells(path)
    shown = list(shown_values(cells))
    assert without_numbers(capsys.readouterr().out) == without_numbers(kept_text(cells))
    kept = [
        output["data"]
        for cell in cells
        for output in cell["outputs"]
        if output["output_type"] == "execute_result"
    ]
    assert len(shown) == len(kept)
    for value, data in zip(shown, kept, strict=True):
        if isinstance(value, Figure):
            assert value._repr_png_().startswith(b"\x89PNG")
            assert "image/png" in data
        else:
            assert repr(value) == "".join(data["text/plain"])


def test_the_notebook_of_heads_runs_and_shows_runs_organisations_and_figures(tmp_path, monkeypatch):
    from plotly.graph_objects import Figure

    from haarbor.questionnaire import Organization
    from haarbor.store import Run

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    [path] = [path for path in NOTEBOOKS if path.stem == "heads_in_a_notebook"]
    shown = list(shown_values(code_cells(path)))
    kinds = [type(value) for value in shown]
    assert kinds == [Run, Organization, Figure, dict, *[Figure] * 7, int]
    for value in shown:
        if isinstance(value, Figure):
            assert json.loads(value.to_json())["data"]
        elif isinstance(value, Run | Organization):
            assert "<img" in value._repr_html_()
    [page] = tmp_path.rglob("report.html")
    assert page.stat().st_size == shown[-1]
