"""What a pruning study found."""

import numpy as np

from tests.analysis.pruning_results import pruning_results


def test_values_are_the_metric_whichever_way_is_better():
    found = pruning_results(damages={"norm": np.array([0.1, 0.2])}, baseline=0.9)
    np.testing.assert_allclose(found.values("norm"), [1.0, 1.1])
    found = pruning_results(damages={"norm": np.array([0.1, 0.2])}, baseline=0.9, higher_is_better=True)
    np.testing.assert_allclose(found.values("norm"), [0.8, 0.7])
    assert repr(pruning_results()) == "PruningResults(4 of 12 heads by leftover, 4 scores)"
