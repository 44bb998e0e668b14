import numpy as np

from haarbor.paper._entropies_figure import paper_entropies_figure
from tests.plots.figure_contents import artist


def test_entropies_of_three_batches_with_their_tenths(results_of):
    found = results_of("open")
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
    assert len(paper_entropies_figure([results_of("one batch")]).axes) == 1
