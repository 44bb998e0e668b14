import numpy as np
import pytest

from haarbor.plots import pruning_figure
from tests.analysis.pruning_results import HEALED, pruning_results


def test_every_score_has_a_line_and_the_heads_that_go_are_marked():
    found = pruning_results()
    curves, grid = pruning_figure(found).axes
    lines = {bar.get_label(): bar for bar in curves.containers}
    assert list(lines) == ["leftover (recommended)", "gradient", "h400", "random"]
    np.testing.assert_allclose(lines["h400"][0].get_ydata(), found.values("h400"))
    low, high = lines["h400"][2][0].get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(0.02)
    (mesh,) = grid.collections
    cells = np.asarray(mesh.get_array()).reshape(4, 3)
    np.testing.assert_array_equal(cells.T.reshape(-1), found.removed["leftover"])


def test_what_was_healed_is_a_point_of_its_own():
    found = pruning_results(healing=HEALED)
    curves = pruning_figure(found, title="Heads $1").axes[0]
    (point,) = [bar for bar in curves.containers if "healed" in bar.get_label()]
    assert point.get_label() == "leftover healed, 20 steps"
    np.testing.assert_allclose(point[0].get_xydata(), [[4 / 12, 3.05]])
