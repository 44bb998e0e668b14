import numpy as np
import pytest

import haarbor as hb
from haarbor.plots import entropy_figure, entropy_map_figure
from haarbor.plots._entropy_values import entropy_values


@pytest.mark.parametrize("measure", ["normalised", "mean_removed"])
def test_tie_interval_is_scaled_like_the_measure(batches, causal, measure):
    found = entropy_values(batches[0], measure)
    np.testing.assert_array_equal(found.values[0], getattr(batches[0], measure))
    assert (found.least <= found.values + 1e-12).all()
    assert (found.values <= found.most + 1e-12).all()
    share = (found.most - found.least)[0] / np.ptp(batches[0].tie_interval, axis=1)
    constant = batches[0].constant if measure == "mean_removed" else 0.0
    np.testing.assert_allclose(share, 1 / np.sqrt(batches[0].norm ** 2 - constant**2))


def test_batches_that_cannot_be_compared_are_refused(batches, causal):
    trees = causal.organization.trees
    fewer_heads = hb.head_entropy(causal.X[:, :, :3], trees, k=90)
    with pytest.raises(hb.ShapeError, match=r"same heads; found \[3, 12\] heads"):
        entropy_figure([batches[0], fewer_heads])
    with pytest.raises(hb.SettingError, match="same k and p"):
        entropy_figure([batches[0], hb.head_entropy(causal.X, trees, k=7)])
    with pytest.raises(hb.SettingError, match="at least one batch"):
        entropy_map_figure([])
    with pytest.raises(hb.SettingError, match="measure must be one of 'raw'"):
        entropy_figure(batches, measure="mean")
