"""The example notebooks run from top to bottom, and what they end cells with can be shown."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


def shown_values(notebook):
    """Run the code cells in one scope, as a notebook does; what each shows."""
    scope = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "cell", "exec"), scope)
        if last is not None:
            yield eval(compile(ast.Expression(last.value), "cell", "eval"), scope)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


def test_the_notebook_of_heads_runs_and_shows_runs_organisations_and_figures(tmp_path, monkeypatch):
    from plotly.graph_objects import Figure

    from haarbor.questionnaire import Organization
    from haarbor.store import Run

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    [path] = [path for path in NOTEBOOKS if path.stem == "heads_in_a_notebook"]
    shown = list(shown_values(json.loads(path.read_text(encoding="utf-8"))))
    kinds = [type(value) for value in shown]
    assert kinds == [Run, Organization, Figure, dict, *[Figure] * 7, int]
    for value in shown:
        if isinstance(value, Figure):
            assert json.loads(value.to_json())["data"]
        elif isinstance(value, Run | Organization):
            assert "<img" in value._repr_html_()
    [page] = tmp_path.rglob("report.html")
    assert page.stat().st_size == shown[-1]
