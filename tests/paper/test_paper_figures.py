"""The paper's figures, for runs of every kind."""

import importlib
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import haarbor as hb
from haarbor.paper import write_paper_figures
from haarbor.paper._entropies_figure import paper_entropies_figure
from haarbor.paper._expansion_figure import paper_expansion_figure
from haarbor.paper._heads_figure import paper_heads_figure
from haarbor.paper._network_figure import paper_network_figure
from haarbor.paper._paper_results import loaded_results
from haarbor.paper._structure_figure import paper_structure_figure
from tests.paper.layout import assert_nothing_is_cut_off
from tests.paper.runs import KINDS
from tests.plots.figure_contents import texts_of

FIGURES = (
    paper_heads_figure,
    paper_structure_figure,
    paper_expansion_figure,
    paper_entropies_figure,
    paper_network_figure,
)


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_is_drawn_and_nothing_cut_off(kind, draw, results_of):
    figure = draw([results_of(kind)])
    assert_nothing_is_cut_off(figure)
    assert any(results_of(kind).name in text for text in texts_of(figure))


@pytest.mark.slow
@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_networks_of_different_size_share_a_picture(draw, results_of):
    figure = draw([results_of("open"), results_of("causal"), results_of("one head")])
    assert_nothing_is_cut_off(figure)
    texts = texts_of(figure)
    for kind in ("open", "causal", "one head"):
        assert any(text.startswith(f"{kind} (probabilities") for text in texts)


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_names_of_any_letters_and_length_are_drawn(draw, results_of):
    assert_nothing_is_cut_off(draw([results_of("causal").named("$x_{漢}$ " * 40)]))


@pytest.fixture(scope="module")
def written(results_of, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures") / "new" / "folder"
    told = []
    files = write_paper_figures(
        [results_of("open"), results_of("causal")], folder, on_progress=lambda *step: told.append(step)
    )
    return folder, files, told


@pytest.mark.slow
def test_every_figure_and_table_is_written(written):
    folder, files, told = written
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in files)
    names = {path.name for path in files}
    for number in ("1", "2_2", "3", "4", "5", "6"):
        assert {f"figure{number}.png", f"figure{number}.svg"} <= names
    # The first network has no logits.
    assert "figure2_1.png" not in names
    for table in ("table1", "table1_stability", "table2", "table3"):
        assert {f"{table}.csv", f"{table}.md"} <= names
    assert {"figures.md", "results.npz"} <= names
    assert told[-1] == ("drawing", len(files), len(files))
    assert len(told) == len(files)


def test_the_page_shows_what_was_written_and_says_what_is_missing(written):
    folder, files, _ = written
    page = (folder / "figures.md").read_text()
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert sorted(links) == sorted(path.name for path in files if path.suffix == ".png")
    assert "The paper shows 3 batches; causal has 2 batches." in page
    assert "- open: 3 layers, 12 heads, 7 batches, probabilities" in page
    for name in ("table1", "table2", "table3"):
        assert (folder / f"{name}.md").read_text().strip() in page


def test_networks_of_one_name_are_numbered(results_of, tmp_path, monkeypatch):
    module = importlib.import_module("haarbor.paper._paper_figures")
    shown = []
    monkeypatch.setattr(module, "_drawings", lambda results: shown.extend(results) or iter(()))
    write_paper_figures([results_of("causal"), results_of("causal")], tmp_path)
    assert [found.name for found in shown] == ["causal (1)", "causal (2)"]
    assert "- causal (2) (causal): 2 layers" in (tmp_path / "figures.md").read_text()
    assert [found.name for found in loaded_results(tmp_path / "results.npz")] == ["causal", "causal"]


@pytest.mark.slow
def test_drawn_again_from_its_file_everything_is_the_same_to_the_byte(written, tmp_path):
    folder, files, _ = written
    write_paper_figures(loaded_results(folder / "results.npz"), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in files)
    different = [path.name for path in files if path.read_bytes() != (tmp_path / path.name).read_bytes()]
    assert different == []


def test_softmax_of_a_run_with_logits_is_figure_2(results_of, tmp_path, monkeypatch):
    asked = []

    def recorded(logits, row_tree, column_tree, *, mask, title):
        asked.append((logits, row_tree, column_tree, mask, title))
        return Figure()

    module = importlib.import_module("haarbor.paper._paper_figures")
    monkeypatch.setattr(module, "paraproduct_figure", recorded)
    for draw in FIGURES:
        # The other figures are drawn by other tests.
        monkeypatch.setattr(module, draw.__name__, lambda _results: Figure())
    found = results_of("causal")
    names = {path.name for path in write_paper_figures([found], tmp_path)}
    assert "figure2.png" in names
    assert "## Figure 2\n" in (tmp_path / "figures.md").read_text()
    ((logits, row_tree, column_tree, mask, title),) = asked
    (example,) = found.softmax_examples
    np.testing.assert_array_equal(logits, example.logits)
    assert (row_tree, column_tree) == (example.trees["query"], example.trees["key"])
    np.testing.assert_array_equal(mask, found.mask)
    assert title == f"causal (logits, batch 0): head {found.head_names[example.head]}"


def test_results_of_a_small_run_are_small(written):
    folder, _, _ = written
    assert (folder / "results.npz").stat().st_size < 100_000


def test_a_folder_that_cannot_be_made_is_refused(results_of, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(hb.SettingError, match="the folder for the figures must be one that can be made"):
        write_paper_figures([results_of("open")], tmp_path / "file" / "folder")
    with pytest.raises(hb.SettingError, match="at least one network"):
        write_paper_figures([], tmp_path)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the pictures out, for tests of the other files."""
    module = importlib.import_module("haarbor.paper._paper_figures")
    monkeypatch.setattr(module, "_drawings", lambda _results: iter(()))


@pytest.mark.parametrize("name", ["table1.csv", "table2.md", "figures.md", "results.npz"])
def test_no_file_is_written_over_a_pipe_and_links_are_followed(name, results_of, undrawn, tmp_path):
    (tmp_path / name).symlink_to("elsewhere")
    write_paper_figures([results_of("open")], tmp_path)
    assert (tmp_path / name).is_symlink()
    assert (tmp_path / "elsewhere").stat().st_size > 50
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(hb.StoreError, match=r"must be written to a file; .* is a device, a pipe or a socket"):
        write_paper_figures([results_of("open")], tmp_path)
    assert not list(tmp_path.glob("*partial*"))


@pytest.mark.parametrize("name", ["half \ud800", "\x1b[2J\r", "\u202eback"])
def test_names_that_no_file_can_hold_are_written_out(name, results_of, undrawn, tmp_path):
    write_paper_figures([replace(results_of("causal"), model=name).named(name)], tmp_path)
    shown = name.encode("unicode_escape").decode("ascii")
    assert shown in (tmp_path / "table2.csv").read_text(encoding="utf-8")
    for path in (*tmp_path.glob("*.csv"), *tmp_path.glob("*.md")):
        assert not {"\x1b", "\r", "\u202e"} & set(path.read_bytes().decode("utf-8"))
    assert loaded_results(tmp_path / "results.npz")[0].name == name
