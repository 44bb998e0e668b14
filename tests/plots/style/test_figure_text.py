"""Texts from outside, some of which fight back."""

import pytest

import haarbor as hb
from haarbor.plots import organized_matrix_figure, save_figure, tree_figure
from haarbor.plots.style._figure_text import plain_text
from tests.plots.figure_contents import drawn_texts

TREE = hb.PartitionTree([[0, 0, 0], [0, 0, 1], [0, 1, 2]])
HOSTILE = ["$x_", "$", r"\$", "$$", r"\frac{", "\n", "\t", " ", "", "\x00", "\ud800", "漢字", "🙂", "é",
           "Ġthe", "a" * 80, "\u202eabc", "^_{}", "%s", "<b>&amp;"]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_hostile_labels_are_drawn(causal, suffix, tmp_path):
    figure = organized_matrix_figure(
        causal.X, causal.organization, query_labels=HOSTILE, key_labels=HOSTILE, title="".join(HOSTILE)
    )
    assert save_figure(figure, tmp_path / f"hostile.{suffix}").stat().st_size > 1000


def test_dollars_reach_the_page_and_begin_no_formula():
    figure = tree_figure(TREE, labels=["$x_", r"\$y$", "$"])
    figure.draw_without_rendering()
    shown = [text._preprocess_math(text.get_text()) for text in figure.axes[0].texts]
    assert shown == [("$x_", False), (r"\$y$", False), ("$", False)]


def test_line_ends_are_visible_and_missing_letters_become_boxes():
    assert plain_text("a\n\t漢") == "a⏎⇥□"
    assert plain_text("Ġé") == "Ġé"
    assert "⏎" in drawn_texts(tree_figure(TREE, labels=["\n", "b", "c"]))


def test_long_titles_stay_within_the_figure(tmp_path):
    figure = tree_figure(TREE, title="a rather long title " * 9)
    figure.draw_without_rendering()
    box = figure._suptitle.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
