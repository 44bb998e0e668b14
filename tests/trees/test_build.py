import pytest

import haarbor as hb
from tests.reference.affinity import gaussian_affinity


@pytest.fixture
def affinity(rng):
    return gaussian_affinity(rng.normal(size=(11, 2)).tolist())


def test_build_tree_hands_its_settings_on(affinity):
    spectrum = hb.markov_spectrum(affinity)
    assert hb.build_tree(affinity) == hb.flexible_tree(spectrum)
    assert hb.build_tree(affinity, tree_constant=0.05) == hb.flexible_tree(spectrum, 0.05)
    assert hb.flexible_tree(spectrum, 0.05) != hb.flexible_tree(spectrum)
    assert hb.build_tree(affinity, tree="binary") == hb.binary_tree(affinity)
    assert hb.build_tree(affinity, tree="binary", cut="balanced") == hb.binary_tree(affinity, cut="balanced")
    assert hb.binary_tree(affinity, cut="balanced") != hb.binary_tree(affinity)


def test_unknown_builders_are_refused(affinity):
    with pytest.raises(
        hb.SettingError, match="tree must be one of 'flexible', 'binary', 'haar'; found 'oak'"
    ):
        hb.build_tree(affinity, tree="oak")
