import numpy as np

from haarbor.paper._structure_figure import paper_structure_figure
from tests.plots.figure_contents import artist, drawn_texts


def test_structure_shows_map_affinity_and_tree(results_of):
    found = results_of("open")
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
    assert "a single head has no map" in drawn_texts(paper_structure_figure([results_of("one head")]))
