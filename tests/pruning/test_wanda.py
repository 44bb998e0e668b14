"""Wanda-sp."""

import numpy as np

from haarbor.pruning import NetworkHeads, calibration_pass, pruning_scores
from haarbor.pruning._wanda import wanda_scores
from tests.assertions import assert_close
from tests.pruning.builders import layer_heads, moments_of
from tests.pruning.small_networks import batches, network


def test_by_hand():
    # Root mean squares 5 and 1; mean absolute weights 2 and 3 in the first head, 1 and 1 in the second.
    x = np.array([[5.0, 1.0, 3.0, 0.0], [-5.0, 1.0, -3.0, 0.0]])
    weight = np.array([[1.0, -3.0, 1.0, 1.0], [-3.0, 3.0, 1.0, -1.0]])
    found = wanda_scores([moments_of(x, weight)], NetworkHeads((layer_heads(2, 2),)))
    assert_close(found, [2 * 5 + 3 * 1, 1 * 3 + 0])


def test_it_is_the_slow_transcription(rng):
    x, weight = rng.normal(1, 2, (40, 6)), rng.normal(size=(5, 6))
    expected = []
    for head in range(3):
        total = 0.0
        for j in (2 * head, 2 * head + 1):
            norm = sum(value**2 for value in x[:, j]) ** 0.5
            total += sum(abs(w) * norm for w in weight[:, j]) / 5
        expected.append(total / 40**0.5)
    found = wanda_scores([moments_of(x, weight)], NetworkHeads((layer_heads(3, 2),)))
    assert_close(found, expected, scale=1e3)


def test_as_a_score_every_layer_loses_the_same_share():
    found = calibration_pass(network("llama"), batches("llama"))
    ranks = pruning_scores(found, ["wanda-sp"])["wanda-sp"]
    for n_removed in (3, 6, 9):
        assert {gone.size for gone in found.heads.by_layer(ranks < n_removed)} == {n_removed // 3}
