import json

import numpy as np
import pytest

import haarbor as hb


def test_settings_cannot_be_changed_and_fit_json(rng):
    settings = hb.organize(rng.random((4, 5))).settings
    with pytest.raises(AttributeError):
        settings.n_iterations = 5
    back = json.loads(json.dumps(settings.to_dict()))
    assert back["axes"] == ["query", "key"]
    assert back["alpha"] == {"query": 0.0, "key": 0.0}


def test_settings_given_again_give_the_same_trees(rng):
    X = rng.random((6, 7, 5))
    one = hb.organize(X, alpha=0.5, tree_constant=0.7, refine="published", n_iterations=2)
    told = one.settings.to_dict()
    for name in ("precision", "masked_entries"):
        told.pop(name)
    two = hb.organize(X, **told)
    assert two.settings == one.settings
    assert all(two.trees[axis] == one.trees[axis] for axis in one.axes)


def test_numpy_numbers_in_settings_still_fit_json(rng):
    settings = hb.organize(rng.random((4, 5)), alpha=np.float32(0.5), tree_constant=np.int64(2)).settings
    assert json.loads(json.dumps(settings.to_dict()))["tree_constant"] == 2.0
