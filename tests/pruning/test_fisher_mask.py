"""Kwon's mask by Fisher information."""

from itertools import combinations

import numpy as np
import pytest

from haarbor.errors import DataError, SettingError
from haarbor.pruning import NetworkHeads
from haarbor.pruning._fisher_mask import fisher_mask
from tests.pruning.builders import layer_heads


def test_by_hand_heads_that_act_together_are_exchanged():
    # Heads 0 and 1 push the loss the same way, 2 the other way: alone 2 costs most, beside 0 it helps.
    gradients = np.array([[1.0, 1.0, -1.1], [1.0, 1.0, -1.1]])
    heads = NetworkHeads((layer_heads(3),))
    assert np.flatnonzero(fisher_mask(gradients, heads, 1)).tolist() == [0]
    assert np.flatnonzero(fisher_mask(gradients, heads, 2)).tolist() == [1, 2]


def test_each_layer_keeps_its_number_and_its_cost_is_least_for_one_exchange(rng):
    heads = NetworkHeads((layer_heads(4), layer_heads(4)))
    for _ in range(10):
        gradients = rng.normal(size=(5, 8)) * rng.uniform(0.5, 2, 8)
        removed = fisher_mask(gradients, heads, 4)
        diagonal = np.argsort((gradients**2).mean(0))[:4]
        assert removed.sum() == 4
        for layer, gone in enumerate(heads.by_layer(removed)):
            # Of a layer that would lose all its heads one stays, and another layer loses it.
            assert gone.size == min(np.sum(diagonal // 4 == layer), 3) or 4 in np.bincount(diagonal // 4)

            def cost(chosen, own=gradients[:, 4 * layer : 4 * layer + 4]):
                return float(np.mean(sum(own[:, head] for head in chosen) ** 2))

            for out, back in combinations(range(4), 2):
                other = set(gone.tolist()) ^ {out, back}
                if len(other) == gone.size and gone.size:
                    assert cost(gone.tolist()) <= cost(sorted(other)) + 1e-9


def test_gradients_of_another_network_are_refused():
    heads = NetworkHeads((layer_heads(3),))
    with pytest.raises(DataError, match=r"gradients must be finite, one per batch and head"):
        fisher_mask(np.ones((2, 4)), heads, 1)
    with pytest.raises(DataError, match=r"gradients must be finite"):
        fisher_mask(np.full((2, 3), np.nan), heads, 1)
    with pytest.raises(SettingError, match="the number of heads to remove"):
        fisher_mask(np.ones((2, 3)), heads, 3)
