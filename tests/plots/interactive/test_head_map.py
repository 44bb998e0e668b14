import numpy as np
import pytest

from haarbor.analysis import head_scores
from haarbor.errors import SettingError
from haarbor.plots.interactive import head_map_figure


def test_the_head_map_holds_the_score_layer_by_layer(text):
    figure = head_map_figure(text, "fine-share")
    scores = {score.name: score for score in head_scores(text)}
    np.testing.assert_array_equal(figure.data[0].z, scores["fine-share"].values.reshape(3, 4))
    assert figure.layout.title.text == "Share of fine scales"
    with pytest.raises(
        SettingError, match=r"score must be one that the run holds, entropy, .*found 'beauty'"
    ):
        head_map_figure(text, "beauty")
