"""Which heads are removed for a share of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.pruning import NetworkHeads, possible_counts, removal, removal_count
from haarbor.pruning._budgets import reachable_shares, removal_of_count
from tests.pruning.builders import layer_heads

NETWORK = NetworkHeads((layer_heads(6, group=3), layer_heads(6, group=3)))
LLAMA = NetworkHeads((layer_heads(8, group=2),) * 5)
UNEVEN = NetworkHeads((layer_heads(4), layer_heads(8), layer_heads(2)))
WITHIN = st.sampled_from(["network", "layer", "uniform"])


def test_budgets_take_the_lowest_scores():
    scores = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0.5])
    assert np.flatnonzero(removal(scores, NETWORK, 0.25)).tolist() == [0, 1, 11]
    assert np.flatnonzero(removal(scores, NETWORK, 1 / 3, within="layer")).tolist() == [0, 1, 6, 11]
    assert np.flatnonzero(removal(scores, NETWORK, 1 / 3, within="uniform")).tolist() == [0, 3, 6, 11]
    # Every layer keeps a head, so the sixth to go is of the other layer.
    assert np.flatnonzero(removal(np.arange(12), NETWORK, 0.5)).tolist() == [0, 1, 2, 3, 4, 6]
    assert removal(scores, NETWORK, 1.0).sum() == 10
    assert not removal(scores, NETWORK, 0.0).any()


@given(st.integers(0, 2**32 - 1), st.floats(0.2, 1), WITHIN)
def test_budgets_do_not_depend_on_the_scale_of_scores(seed, share, within):
    scores = np.random.default_rng(seed).normal(size=12)
    removed = removal(scores, NETWORK, share, within=within)
    np.testing.assert_array_equal(removed, removal(np.exp(scores), NETWORK, share, within=within))
    by_layer = removed.reshape(2, 6).sum(1)
    assert by_layer.max() < 6
    if within == "layer":
        assert np.ptp(by_layer) <= 1
    elif within == "uniform":
        assert np.unique(removed.reshape(4, 3).sum(1)).size == 1


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), WITHIN, st.sampled_from([NETWORK, LLAMA, UNEVEN]))
def test_all_scores_remove_the_number_of_heads_that_is_told(seed, share, within, heads):
    """Every layer keeps a head, whatever is asked; a share that is nearest to none is refused."""
    scores = np.random.default_rng(seed).normal(size=heads.n_heads)
    if share and not reachable_shares(heads, [share], within=within):
        with pytest.raises(SettingError, match="at least one head must go"):
            removal_count(heads, share, within=within)
        return
    count = removal_count(heads, share, within=within)
    removed = removal(scores, heads, share, within=within)
    assert removed.sum() == count
    assert all(
        gone.size < own.n_heads for gone, own in zip(heads.by_layer(removed), heads.layers, strict=True)
    )
    if within != "uniform":
        # As many within layers as over the whole network: damages can be compared.
        assert removal_count(heads, share) == count
        assert abs(count - share * heads.n_heads) <= 0.5 or count == heads.n_heads - len(heads)


def test_a_share_becomes_the_nearest_number_and_the_smaller_of_two():
    assert removal_count(LLAMA, 0.3) == removal_count(LLAMA, 0.3, within="layer") == 12
    assert removal_count(LLAMA, 0.0375) == 1  # a head and a half
    assert removal_count(LLAMA, 0.95) == 35  # every layer keeps one of its 8
    assert removal_count(LLAMA, 0.3, within="uniform") == 20


def test_layers_lose_the_same_number_to_within_one_and_the_lowest_scores_decide():
    scores = np.arange(40.0)
    twelve = removal(scores, LLAMA, 0.3, within="layer").reshape(5, 8)
    # Two per layer, and the third of the layers whose third score is lowest.
    assert twelve.sum(1).tolist() == [3, 3, 2, 2, 2]
    assert np.flatnonzero(twelve[2]).tolist() == [0, 1]


def test_layers_of_different_sizes_lose_their_shares():
    removed = removal(np.zeros(14), UNEVEN, 0.5, within="layer")
    assert [gone.size for gone in UNEVEN.by_layer(removed)] == [2, 4, 1]


def test_possible_numbers_are_those_of_the_structure():
    assert possible_counts(LLAMA, within="uniform").tolist() == [20]
    assert possible_counts(NETWORK, within="uniform").tolist() == [4, 8]
    assert possible_counts(NETWORK).tolist() == list(range(1, 11))
    # Layers of 4, 8 and 2 heads take their turns.
    assert possible_counts(UNEVEN, within="uniform").tolist() == list(range(1, 12))
    assert possible_counts(NetworkHeads((layer_heads(1), layer_heads(1)))).tolist() == []


@pytest.mark.parametrize(
    ("heads", "share", "within", "message"),
    [
        (LLAMA, 0.2, "uniform", r"20 % of 40 heads, .* is none\. Possible here: 50 % \(20\)\."),
        (NETWORK, 0.1, "uniform", r"Possible here: 33\.3 % \(4\), 66\.7 % \(8\)\."),
        (LLAMA, 0.01, "network", r"1 % of 40 heads is none\. Possible here: 2\.5 % \(1\), .*\(35\)\."),
        (
            NetworkHeads((layer_heads(1), layer_heads(1))),
            0.5,
            "network",
            "Every layer has a single head, which must stay",
        ),
        (NetworkHeads((layer_heads(2, group=1), layer_heads(1, group=1))), 0.1, "network", "is none"),
    ],
)
def test_a_budget_that_removes_nothing_is_refused_with_those_that_are_possible(heads, share, within, message):
    with pytest.raises(SettingError, match=message) as refused:
        removal(np.zeros(heads.n_heads), heads, share, within=within)
    assert "\n" not in str(refused.value)


def test_a_number_that_the_structure_does_not_allow_is_refused():
    with pytest.raises(SettingError, match=r"found 12 of 40, .*Possible here: 50 % \(20\)"):
        removal_of_count(np.zeros(40), LLAMA, 12, within="uniform")
    assert removal_of_count(np.zeros(40), LLAMA, 12, within="layer").sum() == 12


@pytest.mark.parametrize(
    ("scores", "options", "error", "message"),
    [
        (np.zeros(5), {}, ShapeError, "one score per head"),
        (np.full(12, np.nan), {}, DataError, "that of head 0.0 is not"),
        (["low"] * 12, {}, DataError, "scores must be numbers"),
        (None, {}, ShapeError, "one score per head"),
        (np.zeros(12), {"share": 1.5}, SettingError, "between 0 and 1"),
        (np.zeros(12), {"share": None}, SettingError, "between 0 and 1; found None"),
        (np.zeros(12), {"share": "0.5"}, SettingError, "between 0 and 1; found '0.5'"),
        (np.zeros(12), {"share": float("nan")}, SettingError, "between 0 and 1; found nan"),
        (np.zeros(12), {"share": True}, SettingError, "between 0 and 1; found True"),
        (np.zeros(12), {"within": "block"}, SettingError, "within must be one of"),
        (np.zeros(12), {"within": None}, SettingError, "within must be one of"),
    ],
)
def test_wrong_budgets_are_refused(scores, options, error, message):
    with pytest.raises(error, match=message):
        removal(scores, NETWORK, **{"share": 0.5, **options})
