"""How much each head writes into the residual stream."""

import numpy as np
import pytest

from haarbor.errors import PruningError
from haarbor.pruning import LayerHeads, NetworkHeads, calibration_pass, network_heads, pruning_scores
from haarbor.pruning._output_norms import contribution_gram, output_norms, relative_output_norms
from tests.assertions import assert_close
from tests.pruning.builders import layer_heads, moments_of
from tests.pruning.small_networks import batches, network


def test_gram_matrix_of_what_heads_write(rng):
    x, weight = rng.normal(size=(50, 6)), rng.normal(size=(4, 6))
    parts = [x[:, 2 * h : 2 * h + 2] @ weight[:, 2 * h : 2 * h + 2].T for h in range(3)]
    expected = [[np.mean(np.sum(a * b, axis=1)) for b in parts] for a in parts]
    assert_close(contribution_gram(x.T @ x / 50, weight, layer_heads(3, 2)), expected, scale=10)


def test_norms_are_root_mean_squares_of_what_heads_write(rng):
    x, weight, energy = rng.normal(size=(50, 4)), rng.normal(size=(4, 4)), rng.uniform(1, 5, 50)
    moments, heads = [moments_of(x, weight, energy)], NetworkHeads((layer_heads(2, 2),))
    squares = np.stack([np.square(x[:, s] @ weight[:, s].T).sum(1) for s in (slice(0, 2), slice(2, 4))])
    assert_close(output_norms(moments, heads), np.sqrt(squares.mean(1)))
    assert_close(relative_output_norms(moments, heads), np.sqrt((squares / energy).mean(1)))
    mean = relative_output_norms(moments, heads, per_token=False)
    assert_close(mean, np.sqrt(squares.mean(1) / energy.mean()))


def test_scores_relative_to_a_stream_that_was_not_found_are_refused():
    model, data = network("gpt2"), batches("gpt2", 2)
    heads = network_heads(model, data[0])
    lost = NetworkHeads(tuple(LayerHeads(**{**_fields(layer), "block": None}) for layer in heads.layers))
    found = calibration_pass(model, data, heads=lost)
    assert pruning_scores(found, ["norm"])["norm"].shape == (12,)
    with pytest.raises(PruningError, match="residual stream of layer 0 was not found"):
        pruning_scores(found, ["relative-norm"])


def _fields(layer):
    return {name: getattr(layer, name) for name in LayerHeads.__slots__}
