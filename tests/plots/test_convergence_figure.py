import numpy as np
import pytest

import haarbor as hb
from haarbor.plots import convergence_figure
from tests.plots.figure_contents import drawn_texts


def test_lines_are_the_changes_and_the_coherence(causal):
    convergence = causal.organization.convergence(causal.X)
    changes, coherence = convergence_figure(convergence).axes
    lines = {line.get_label(): line.get_ydata() for line in changes.lines}
    assert list(lines) == ["query", "key", "head"]
    for axis, values in lines.items():
        np.testing.assert_array_equal(values, convergence.tree_change[axis])
    assert np.isnan(lines["head"][0])
    np.testing.assert_array_equal(coherence.lines[0].get_ydata(), convergence.coherence)


def test_a_single_iteration_is_a_figure(causal, tmp_path):
    org = hb.organize(causal.X, n_iterations=1)
    figure = convergence_figure(org.convergence(causal.X))
    figure.savefig(tmp_path / "single.png", dpi=40)
    assert "1" in drawn_texts(figure)


def test_trees_that_never_change_are_a_figure(tmp_path):
    X = np.ones((1, 1, 1))
    figure = convergence_figure(hb.organize(X).convergence(X))
    figure.savefig(tmp_path / "still.png", dpi=40)
    assert figure.axes[0].get_ylim()[0] == 0.0


def test_other_objects_are_not_convergence(causal):
    with pytest.raises(hb.SettingError, match=r"from organization\.convergence\(X\); found Organization"):
        convergence_figure(causal.organization)
