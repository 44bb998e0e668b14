import numpy as np
import pytest

import haarbor as hb
from haarbor.datasets import synthetic_attention, synthetic_network
from tests.assertions import assert_close

KINDS = {"previous", "local", "topic", "induction", "sink", "broad"}


def test_probabilities_are_causal_rows_that_sum_to_one():
    network = synthetic_network(n_tokens=20, n_layers=3, heads_per_layer=2)
    assert network.tensor.shape == (20, 20, 6)
    assert_close(network.tensor.sum(axis=1), np.ones((20, 6)))
    assert (network.mask == np.tri(20, dtype=bool)).all()
    assert (network.tensor[~network.mask] == 0).all()
    assert (network.tensor[network.mask] > 0).all()


def test_without_a_causal_mask_every_key_is_seen():
    network = synthetic_network(n_tokens=9, n_layers=1, heads_per_layer=2, causal=False)
    assert network.mask.all()
    assert (network.tensor > 0).all()
    assert_close(network.tensor.sum(axis=1), np.ones((9, 2)))


def test_probabilities_are_the_softmax_of_the_logits():
    logits = synthetic_network(n_tokens=12, n_layers=2, heads_per_layer=2, content="logits")
    found = synthetic_network(n_tokens=12, n_layers=2, heads_per_layer=2)
    weights = np.where(logits.mask[:, :, None], np.exp(logits.tensor), 0.0)
    assert_close(found.tensor, weights / weights.sum(axis=1, keepdims=True))
    assert np.isfinite(logits.tensor).all()
    assert (logits.tensor[~logits.mask] != 0).any()


def test_batches_show_one_network_other_text():
    one, two = (synthetic_network(n_tokens=40, n_layers=2, heads_per_layer=4, batch=b) for b in (0, 1))
    assert one.head_kinds == two.head_kinds
    assert (one.topics != two.topics).any()
    assert (one.tensor != two.tensor).any()
    other = synthetic_network(n_tokens=40, n_layers=2, heads_per_layer=4, seed=1)
    assert other.head_kinds != one.head_kinds


def test_the_same_seed_gives_the_same_bytes():
    one, two = synthetic_attention(10, 2, 2, batch=3, seed=5), synthetic_attention(10, 2, 2, batch=3, seed=5)
    assert one.tobytes() == two.tobytes()


def test_heads_are_of_known_kinds_in_layer_major_order():
    network = synthetic_network(n_tokens=8, n_layers=6, heads_per_layer=8)
    assert set(network.head_kinds) <= KINDS
    assert len(network.head_kinds) == 48
    assert network.head_layers.tolist() == [layer for layer in range(6) for _ in range(8)]
    assert network.topics.shape == (8,)
    assert set(network.topics.tolist()) <= set(range(5))


def test_sinks_look_at_the_first_token_and_previous_heads_just_behind():
    network = synthetic_network(n_tokens=48, n_layers=6, heads_per_layer=8)
    for head, kind in enumerate(network.head_kinds):
        favourite = network.tensor[24:, :, head].argmax(axis=1)
        lag = np.arange(24, 48) - favourite
        if kind == "sink":
            assert (favourite == 0).mean() > 0.9
        if kind == "previous":
            assert np.median(lag) in (1, 2, 3)


def test_a_tree_of_heads_keeps_kinds_together_better_than_chance(rng):
    network = synthetic_network(n_tokens=32, n_layers=4, heads_per_layer=6)
    d = hb.tree_distances(hb.organize(network.tensor).trees["head"])
    kinds = np.array(network.head_kinds)
    same = (kinds[:, None] == kinds[None, :]) & ~np.eye(kinds.size, dtype=bool)
    shuffled = []
    for _ in range(200):
        mixed = rng.permutation(kinds)
        alike = (mixed[:, None] == mixed[None, :]) & ~np.eye(kinds.size, dtype=bool)
        shuffled.append(d[alike].mean())
    assert d[same].mean() < np.min(shuffled)


def test_the_result_is_read_only_and_says_what_it_is():
    network = synthetic_network(n_tokens=8, n_layers=2, heads_per_layer=3)
    assert repr(network) == "SyntheticNetwork(8 tokens, 2 layers, 6 heads, probabilities)"
    with pytest.raises(ValueError, match="read-only"):
        network.tensor[0, 0, 0] = 1


def test_one_token_one_head():
    assert synthetic_attention(1, 1, 1).tolist() == [[[1.0]]]


@pytest.mark.parametrize("name", ["n_tokens", "n_layers", "heads_per_layer", "n_topics"])
def test_sizes_below_one_are_refused(name):
    with pytest.raises(hb.SettingError, match=rf"{name} must be a whole number in 1\.\.1000000000; found 0"):
        synthetic_network(**{name: 0})


def test_unknown_contents_are_refused():
    with pytest.raises(
        hb.SettingError, match="content must be one of 'probabilities', 'logits'; found 'values'"
    ):
        synthetic_network(content="values")
