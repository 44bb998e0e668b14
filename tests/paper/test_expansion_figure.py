import numpy as np

from haarbor.paper._expansion_figure import paper_expansion_figure
from tests.plots.figure_contents import artist, drawn_texts


def test_expansion_shows_the_highest_and_the_lowest_head(results_of):
    found = results_of("causal")
    figure = paper_expansion_figure([found])
    raw = found.head_entropies[0].raw
    highest, lowest = (found.head_names[head] for head in (np.argmax(raw), np.argmin(raw)))
    texts = drawn_texts(figure)
    assert f"(a) head {highest}, highest entropy" in texts
    assert f"(b) head {lowest}, lowest entropy" in texts
    assert "(a) head 0.0, the only one" in drawn_texts(paper_expansion_figure([results_of("one head")]))
    for place in range(2):
        stems = artist(figure.axes[place], "stems").get_segments()
        ends = [segment[-1, 1] for segment in stems]
        np.testing.assert_allclose(ends, found.head_coefficients[place][1:], rtol=1e-6)
