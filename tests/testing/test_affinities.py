from hypothesis import find, given

import haarbor as hb
from haarbor.testing import affinities


@given(affinities(max_components=3))
def test_affinities_are_affinities(affinity):
    spectrum = hb.markov_spectrum(affinity)
    assert spectrum.n_items == affinity.shape[0]
    assert (affinity == affinity.T).all()


def test_affinities_fall_apart_when_asked_to():
    split = find(affinities(min_items=4, max_components=3), lambda a: (a == 0).any())
    assert hb.markov_spectrum(split).eigenvalues[1] > 1 - 1e-9
    whole = find(affinities(min_items=4), lambda a: a.shape[0] > 4)
    assert (whole > 0).all()
