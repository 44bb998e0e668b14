import numpy as np
import pytest

import haarbor as hb
from haarbor.plots.interactive import haar_scales_figure


def test_cells_are_sums_of_absolute_coefficients(text):
    scales = haar_scales_figure(text, 6).data[0]
    org, X = text.load_result("organization", batch=0), np.asarray(text.tensor(0))
    coefficients = np.abs(
        hb.haar_transform(
            X[:, :, 6], {"query": org.trees["query"], "key": org.trees["key"]}, axes=("query", "key")
        )
    )
    assert np.sum(scales.customdata) == pytest.approx(coefficients.sum(), rel=1e-5)
    assert scales.customdata[0][0] == pytest.approx(coefficients[0, 0], rel=1e-5)
