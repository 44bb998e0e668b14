"""Names of scores, as they are typed."""

import pytest

from haarbor.errors import SettingError
from haarbor.pruning import score_names
from haarbor.pruning._scores import SCORES


def test_names_of_scores():
    assert score_names("norm,random, norm") == ["norm", "random"]
    assert score_names("all") == [*SCORES, "random"]
    with pytest.raises(SettingError, match="found 'magic'"):
        score_names("norm,magic")
    with pytest.raises(SettingError, match="besides 'random'"):
        score_names("random")
    with pytest.raises(SettingError, match="'searched' begins from what other scores choose; found none"):
        score_names("searched,random")
    assert score_names("searched,norm") == ["searched", "norm"]
