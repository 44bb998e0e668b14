from dataclasses import replace

import numpy as np
import pytest

from haarbor.paper._heads_figure import paper_heads_figure
from tests.paper.layout import assert_nothing_is_cut_off
from tests.plots.figure_contents import artist, drawn_texts


def heads_in(figure):
    return [artist(panel, "head").get_array() for panel in figure.axes if panel.get_title(loc="left")
            or panel.get_xlabel() == "key"]  # fmt: skip


def test_heads_are_shown_in_both_orders(results_of):
    found = results_of("rectangular")
    shown = heads_in(paper_heads_figure([found]))
    assert len(shown) == 2 * len(found.shown_heads)
    order = np.ix_(found.orders["query"], found.orders["key"])
    for place in range(len(found.shown_heads)):
        np.testing.assert_array_equal(shown[2 * place].filled(0), found.matrices[place])
        np.testing.assert_array_equal(shown[2 * place + 1].filled(0), found.matrices[place][order])


@pytest.mark.slow
def test_masked_entries_are_grey_and_said_to_be(results_of):
    found = results_of("causal")
    figure = paper_heads_figure([found])
    np.testing.assert_array_equal(heads_in(figure)[0].mask, ~found.mask)
    assert "masked" in drawn_texts(figure)
    assert "masked" not in drawn_texts(paper_heads_figure([results_of("open")]))


def test_probabilities_have_logarithmic_colours_and_logits_linear_ones(results_of):
    names = []
    for kind in ("causal", "logits"):
        figure = paper_heads_figure([results_of(kind)])
        names.append(type(artist(figure.axes[0], "head").norm).__name__)
    assert names == ["LogNorm", "Normalize"]


@pytest.mark.slow
def test_many_chosen_heads_take_more_rows(results_of):
    found = results_of("open")
    many = replace(found, shown_heads=tuple(range(6)), matrices=np.repeat(found.matrices[:1], 6, axis=0))
    figure = paper_heads_figure([many])
    assert_nothing_is_cut_off(figure)
    assert len(heads_in(figure)) == 12
    assert figure.get_figheight() > 1.4 * paper_heads_figure([found]).get_figheight()


def test_a_head_of_a_single_value_is_drawn(results_of):
    found = results_of("open")
    flat = replace(found, matrices=np.full_like(found.matrices, 0.25))
    assert_nothing_is_cut_off(paper_heads_figure([flat]))
    empty = replace(found, matrices=np.zeros_like(found.matrices))
    assert_nothing_is_cut_off(paper_heads_figure([empty]))
