import numpy as np

from haarbor.paper._network_figure import paper_network_figure
from tests.plots.figure_contents import artist, drawn_texts


def test_network_coefficients_of_five_batches(results_of):
    found = results_of("open")
    figure = paper_network_figure([found])
    assert len(figure.axes) == 5
    for values, panel in zip(found.network_coefficients, figure.axes, strict=True):
        ends = [segment[-1, 1] for segment in artist(panel, "stems").get_segments()]
        np.testing.assert_allclose(ends, values[1:], rtol=1e-6)
    constant = found.network_entropies[0].constant
    assert any(f"constant {constant:.4g}" in text for text in drawn_texts(figure))
