import numpy as np
import pytest

import haarbor as hb
from haarbor.errors import DataError, SettingError
from haarbor.plots.interactive import diffusion_map_figure


@pytest.mark.parametrize("dimensions", [2, 3])
def test_points_of_the_map_are_the_diffusion_coordinates(text, dimensions):
    trace = diffusion_map_figure(text, dimensions).data[0]
    expected = hb.diffusion_map(text.load_result("consensus").affinity).coordinates
    for name, column in zip("xyz"[:dimensions], expected.T, strict=False):
        np.testing.assert_array_equal(getattr(trace, name), column)
    assert list(trace.text) == [f"{layer}.{head}" for layer in range(3) for head in range(4)]


def test_other_dimensions_and_too_few_heads_are_refused(text):
    with pytest.raises(SettingError, match="dimensions must be 2 or 3"):
        diffusion_map_figure(text, 4)
    small = hb.organize(hb.datasets.synthetic_attention(n_tokens=8, n_layers=1, heads_per_layer=3))
    with pytest.raises(DataError, match="a map in 3 dimensions needs 4 heads; found 3"):
        diffusion_map_figure(small, 3)
