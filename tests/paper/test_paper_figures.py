"""The paper's figures, for runs of every kind."""

import importlib
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import haarbor as hb
from haarbor.paper import paper_results, write_paper_figures
from haarbor.paper._entropies_figure import paper_entropies_figure
from haarbor.paper._expansion_figure import paper_expansion_figure
from haarbor.paper._heads_figure import paper_heads_figure
from haarbor.paper._network_figure import paper_network_figure
from haarbor.paper._paper_results import loaded_results
from haarbor.paper._structure_figure import paper_structure_figure
from tests.paper.runs import KINDS, paper_run
from tests.plots.figure_contents import artist, drawn_texts

FIGURES = (
    paper_heads_figure,
    paper_structure_figure,
    paper_expansion_figure,
    paper_entropies_figure,
    paper_network_figure,
)


@pytest.fixture(scope="module")
def gathered(tmp_path_factory):
    made = {}

    def of(kind):
        if kind not in made:
            run = paper_run(kind, tmp_path_factory.mktemp("run") / "run.zarr")
            made[kind] = paper_results(run, control_seeds=2)
        return made[kind]

    return of


def assert_nothing_is_cut_off(figure):
    """Everything drawn lies within the figure, and no two titles or axis labels on each other."""
    figure.draw_without_rendering()
    drawn = figure.get_tightbbox()
    assert min(drawn.x0, drawn.y0) >= 0, drawn
    assert drawn.x1 <= figure.get_figwidth(), drawn
    assert drawn.y1 <= figure.get_figheight(), drawn
    named = [
        label
        for panel in figure.axes
        for label in (
            panel.xaxis.label,
            panel.yaxis.label,
            panel.title,
            panel._left_title,
            panel._right_title,
        )
        if label.get_text() and not hasattr(panel, "zaxis")
    ] + list(figure.texts)
    boxes = [(label.get_text(), label.get_window_extent()) for label in named]
    for i, (one, box) in enumerate(boxes):
        for other, another in boxes[:i]:
            assert not box.overlaps(another), f"{one!r} lies on {other!r}"


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_run_is_drawn_and_nothing_cut_off(kind, draw, gathered):
    figure = draw([gathered(kind)])
    assert_nothing_is_cut_off(figure)
    assert any(gathered(kind).name in text for text in drawn_texts(figure))


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_networks_of_different_size_share_a_picture(draw, gathered):
    figure = draw([gathered("open"), gathered("causal"), gathered("one head")])
    assert_nothing_is_cut_off(figure)
    texts = drawn_texts(figure)
    for kind in ("open", "causal", "one head"):
        assert any(text.startswith(f"{kind} (probabilities") for text in texts)


def heads_in(figure):
    return [artist(panel, "head").get_array() for panel in figure.axes if panel.get_title(loc="left")
            or panel.get_xlabel() == "key"]  # fmt: skip


def test_heads_are_shown_in_both_orders(gathered):
    found = gathered("rectangular")
    shown = heads_in(paper_heads_figure([found]))
    assert len(shown) == 2 * len(found.shown_heads)
    order = np.ix_(found.orders["query"], found.orders["key"])
    for place in range(len(found.shown_heads)):
        np.testing.assert_array_equal(shown[2 * place].filled(0), found.matrices[place])
        np.testing.assert_array_equal(shown[2 * place + 1].filled(0), found.matrices[place][order])


def test_masked_entries_are_grey_and_said_to_be(gathered):
    found = gathered("causal")
    figure = paper_heads_figure([found])
    np.testing.assert_array_equal(heads_in(figure)[0].mask, ~found.mask)
    assert "masked" in drawn_texts(figure)
    assert "masked" not in drawn_texts(paper_heads_figure([gathered("open")]))


def test_probabilities_have_logarithmic_colours_and_logits_linear_ones(gathered):
    names = []
    for kind in ("causal", "logits"):
        figure = paper_heads_figure([gathered(kind)])
        names.append(type(artist(figure.axes[0], "head").norm).__name__)
    assert names == ["LogNorm", "Normalize"]


def test_many_chosen_heads_take_more_rows(gathered):
    found = gathered("open")
    many = replace(found, shown_heads=tuple(range(6)), matrices=np.repeat(found.matrices[:1], 6, axis=0))
    figure = paper_heads_figure([many])
    assert_nothing_is_cut_off(figure)
    assert len(heads_in(figure)) == 12
    assert figure.get_figheight() > 1.4 * paper_heads_figure([found]).get_figheight()


def test_a_head_of_a_single_value_is_drawn(gathered):
    found = gathered("open")
    flat = replace(found, matrices=np.full_like(found.matrices, 0.25))
    assert_nothing_is_cut_off(paper_heads_figure([flat]))
    empty = replace(found, matrices=np.zeros_like(found.matrices))
    assert_nothing_is_cut_off(paper_heads_figure([empty]))


def test_structure_shows_map_affinity_and_tree(gathered):
    found = gathered("open")
    figure = paper_structure_figure([found])
    points = np.column_stack(artist(figure.axes[0], "items")._offsets3d)
    np.testing.assert_array_equal(points, found.head_map.coordinates)
    order = found.orders["head"]
    np.testing.assert_array_equal(
        figure.axes[1].images[0].get_array(), found.head_affinity[np.ix_(order, order)]
    )
    texts = drawn_texts(figure)
    assert {"(a) diffusion map of the heads", "(b) affinity of the heads", "(c) tree of the heads"} <= {
        *texts
    }
    assert "a single head has no map" in drawn_texts(paper_structure_figure([gathered("one head")]))


def test_expansion_shows_the_highest_and_the_lowest_head(gathered):
    found = gathered("causal")
    figure = paper_expansion_figure([found])
    raw = found.head_entropies[0].raw
    highest, lowest = (found.head_names[head] for head in (np.argmax(raw), np.argmin(raw)))
    texts = drawn_texts(figure)
    assert f"(a) head {highest}, highest entropy" in texts
    assert f"(b) head {lowest}, lowest entropy" in texts
    assert "(a) head 0.0, the only one" in drawn_texts(paper_expansion_figure([gathered("one head")]))
    for place in range(2):
        stems = artist(figure.axes[place], "stems").get_segments()
        ends = [segment[-1, 1] for segment in stems]
        np.testing.assert_allclose(ends, found.head_coefficients[place][1:], rtol=1e-6)


def test_entropies_of_three_batches_with_their_tenths(gathered):
    found = gathered("open")
    figure = paper_entropies_figure([found])
    assert len(figure.axes) == 3
    for batch, panel in enumerate(figure.axes):
        dots = artist(panel, "heads")
        np.testing.assert_array_equal(dots.get_offsets()[:, 1], found.head_entropies[batch].raw)
        colours = dots.get_facecolors()
        top = np.argsort(-found.head_entropies[batch].raw)[:2]
        assert {tuple(colours[head]) for head in top} == {tuple(colours[top[0]])}
        same = (colours == colours[top[0]]).all(axis=1)
        assert sorted(np.flatnonzero(same)) == sorted(top)
    assert len(paper_entropies_figure([gathered("one batch")]).axes) == 1


def test_network_coefficients_of_five_batches(gathered):
    found = gathered("open")
    figure = paper_network_figure([found])
    assert len(figure.axes) == 5
    for values, panel in zip(found.network_coefficients, figure.axes, strict=True):
        ends = [segment[-1, 1] for segment in artist(panel, "stems").get_segments()]
        np.testing.assert_allclose(ends, values[1:], rtol=1e-6)
    constant = found.network_entropies[0].constant
    assert any(f"constant {constant:.4g}" in text for text in drawn_texts(figure))


@pytest.mark.parametrize("draw", FIGURES, ids=lambda draw: draw.__name__)
def test_names_of_any_letters_and_length_are_drawn(draw, gathered):
    assert_nothing_is_cut_off(draw([gathered("causal").named("$x_{漢}$ " * 40)]))


@pytest.fixture(scope="module")
def written(gathered, tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures") / "new" / "folder"
    told = []
    files = write_paper_figures(
        [gathered("open"), gathered("causal")], folder, on_progress=lambda *step: told.append(step)
    )
    return folder, files, told


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


def test_networks_of_one_name_are_numbered(gathered, tmp_path, monkeypatch):
    module = importlib.import_module("haarbor.paper._paper_figures")
    shown = []
    monkeypatch.setattr(module, "_drawings", lambda results: shown.extend(results) or iter(()))
    write_paper_figures([gathered("causal"), gathered("causal")], tmp_path)
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


def test_softmax_of_a_run_with_logits_is_figure_2(gathered, tmp_path, monkeypatch):
    asked = []

    def recorded(logits, row_tree, column_tree, *, mask, title):
        asked.append((logits, row_tree, column_tree, mask, title))
        return Figure()

    module = importlib.import_module("haarbor.paper._paper_figures")
    monkeypatch.setattr(module, "paraproduct_figure", recorded)
    found = gathered("causal")
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


def test_a_folder_that_cannot_be_made_is_refused(gathered, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(hb.SettingError, match="the folder for the figures must be one that can be made"):
        write_paper_figures([gathered("open")], tmp_path / "file" / "folder")
    with pytest.raises(hb.SettingError, match="at least one network"):
        write_paper_figures([], tmp_path)


@pytest.fixture
def undrawn(monkeypatch):
    """Leave the pictures out, for tests of the other files."""
    module = importlib.import_module("haarbor.paper._paper_figures")
    monkeypatch.setattr(module, "_drawings", lambda _results: iter(()))


@pytest.mark.parametrize("name", ["table1.csv", "table2.md", "figures.md", "results.npz"])
def test_no_file_is_written_over_a_pipe_and_links_are_followed(name, gathered, undrawn, tmp_path):
    (tmp_path / name).symlink_to("elsewhere")
    write_paper_figures([gathered("open")], tmp_path)
    assert (tmp_path / name).is_symlink()
    assert (tmp_path / "elsewhere").stat().st_size > 50
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(hb.StoreError, match=r"must be written to a file; .* is a device, a pipe or a socket"):
        write_paper_figures([gathered("open")], tmp_path)
    assert not list(tmp_path.glob("*partial*"))


@pytest.mark.parametrize("name", ["half \ud800", "\x1b[2J\r", "\u202eback"])
def test_names_that_no_file_can_hold_are_written_out(name, gathered, undrawn, tmp_path):
    write_paper_figures([replace(gathered("causal"), model=name).named(name)], tmp_path)
    shown = name.encode("unicode_escape").decode("ascii")
    assert shown in (tmp_path / "table2.csv").read_text(encoding="utf-8")
    for path in (*tmp_path.glob("*.csv"), *tmp_path.glob("*.md")):
        assert not {"\x1b", "\r", "\u202e"} & set(path.read_bytes().decode("utf-8"))
    assert loaded_results(tmp_path / "results.npz")[0].name == name
