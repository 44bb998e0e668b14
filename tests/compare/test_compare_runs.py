"""Runs compared: a network with itself, with a copy in another order, with a twin, and with noise."""

import numpy as np
import pytest

import haarbor as hb
from haarbor.compare import Comparison, verdict
from haarbor.errors import SettingError
from tests.compare.networks import attention, written

BATCHES = range(3)
ORDER = np.random.default_rng(3).permutation(8)
FEW = {"n_permutations": 199, "keep": False}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    networks = {
        "own": [attention(b) for b in BATCHES],
        "moved": [attention(b)[:, :, ORDER] for b in BATCHES],
        "twin": [attention(b, seed=1) for b in BATCHES],
        "noise": [attention(b, seed=2, kinds="noise") for b in BATCHES],
    }
    made = {name: written(folder / name, given, model=name, words="w") for name, given in networks.items()}
    made["deep"] = written(
        folder / "deep",
        [attention(b, seed=4, n_layers=3) for b in BATCHES],
        n_layers=3,
        model="deep",
        words="w",
    )
    return made


def compared(runs, *names, **options):
    return hb.compare_runs([runs[name] for name in names], **{**FEW, **options})


def test_a_network_compared_with_itself(runs):
    (pair,) = compared(runs, "own", "own").pairs
    assert pair.distance == 0
    assert pair.pairs.tolist() == [[n, n] for n in range(8)]
    assert pair.test.alikeness == 1
    assert (pair.trees.distance, pair.trees.cophenetic) == (0, 1)
    assert pair.entropy_correlation == pytest.approx(1)
    assert pair.coherence == (1, 1)
    assert np.diag(pair.cka) == pytest.approx([1, 1])
    assert "each has its exact counterpart, at its own place" in verdict(pair)[0]


def test_a_copy_in_another_order_gives_the_permutation(runs):
    (pair,) = compared(runs, "own", "moved").pairs
    assert pair.distance == 0
    assert pair.pairs[:, 1].tolist() == np.argsort(ORDER).tolist()
    assert pair.test.alikeness == 1
    assert pair.trees.cophenetic == pytest.approx(1, abs=1e-9)
    assert pair.trees_in_place.cophenetic < pair.trees.cophenetic
    n_moved = int((np.arange(8) != ORDER).sum())
    assert f"but {n_moved} of 8 at other places" in verdict(pair)[0]


def test_a_twin_is_more_alike_than_chance_and_less_than_itself(runs):
    (pair,) = compared(runs, "own", "twin").pairs
    assert 0 < pair.relative_distance < 0.8
    assert 0.2 < pair.test.alikeness < 1
    assert pair.test.p_value < 0.05
    # Every head is matched with one of its kind: kinds are what the networks have in common.
    kinds = [np.random.default_rng(seed) for seed in (0, 1)]
    orders = [(rng.uniform(2.0, 4.0, size=8), rng.permutation(8) % 4)[1] for rng in kinds]
    assert [orders[0][one] for one, _ in pair.pairs] == [orders[1][two] for _, two in pair.pairs]
    assert "are more alike than chance" in verdict(pair)[0]


def test_heads_of_noise_are_not_more_alike_than_chance(runs):
    (pair,) = compared(runs, "own", "noise").pairs
    assert pair.test.alikeness < 0.1
    (pair,) = compared(runs, "noise", "noise", names=("a", "b")).pairs
    assert pair.test.alikeness == 1


def test_networks_of_different_sizes(runs):
    (pair,) = compared(runs, "own", "deep").pairs
    assert pair.pairs.shape == (8, 2)
    assert pair.cka.shape == pair.layer_distances().shape == (2, 3)
    assert pair.trees_in_place is None
    assert (pair.n_in_place, pair.same_sizes) == (0, False)
    assert "8 heads have a counterpart" in verdict(pair)[1]


def test_every_two_of_several_runs(runs):
    found = compared(runs, "own", "twin", "noise", n_batches=2)
    assert [pair.names for pair in found.pairs] == [("own", "twin"), ("own", "noise"), ("twin", "noise")]
    distances = found.distances()
    assert distances[0, 1] == distances[1, 0] < distances[0, 2]
    assert len(found.verdict()) == 3
    assert all(pair.batches == (0, 1) for pair in found.pairs)


def test_one_batch_is_tested_on_the_queries_that_the_matching_has_not_seen(runs):
    (pair,) = compared(runs, "own", "twin", n_batches=1).pairs
    assert pair.test is not None
    assert pair.test.alikeness < 1
    assert pair.cka_other_tokens is None


def test_the_result_is_kept_in_the_first_run(tmp_path):
    tensors = [attention(b) for b in range(2)]
    one = written(tmp_path / "one", tensors, weights="sha256:1", words="w", model="first")
    two = written(tmp_path / "two", tensors, weights="sha256:1", words="w", model="second")
    found = hb.compare_runs([one, two], n_permutations=19)
    kept = hb.open_run(tmp_path / "one").load_result("comparison")
    assert isinstance(kept, Comparison)
    np.testing.assert_array_equal(kept.pairs[0].distances, found.pairs[0].distances)
    assert kept.verdict() == found.verdict()
    assert not two.has_result("comparison")
    assert found.equal_weights == (("first", "second"),)
    assert "the same weights, although their names differ" in found.verdict()[1]


def test_one_network_on_other_tokens_is_compared_head_by_head(tmp_path):
    one = written(tmp_path / "one", [attention(0)], weights="sha256:1", words="a")
    two = written(tmp_path / "two", [attention(9)], weights="sha256:1", words="b")
    (pair,) = hb.compare_runs([one, two], **FEW).pairs
    assert (pair.method, pair.tokens, pair.distances, pair.cka) == ("place", "different", None, None)
    assert pair.pairs.tolist() == [[n, n] for n in range(8)]
    assert pair.distance == pair.trees.distance
    assert "the same network on different tokens" in verdict(pair)[0]
    assert pair.names == ("made up (one)", "made up (two)")


def test_different_networks_on_other_tokens_are_matched_by_geometry(tmp_path):
    pytest.importorskip("ot")
    one = written(tmp_path / "one", [attention(0)], words="a")
    two = written(tmp_path / "two", [attention(9)[:, :, ORDER]], words="b")
    (pair,) = hb.compare_runs([one, two], n_permutations=19, keep=False).pairs
    assert (pair.method, pair.distances) == ("Gromov-Wasserstein", None)
    assert pair.distance == pair.geometry[0] < pair.chance
    assert "it does not say that matched heads do the same" in verdict(pair)[0]


def test_rejections(runs, tmp_path):
    with pytest.raises(SettingError, match="two or more"):
        hb.compare_runs([runs["own"]])
    with pytest.raises(SettingError, match="one for each of the 2 runs"):
        compared(runs, "own", "twin", names=["one"])
    with pytest.raises(SettingError, match="must have the same layers and heads; found 2 x 4 and 3 x 4"):
        compared(runs, "own", "deep", matching="place")
    other = written(tmp_path / "other", [attention(9)], words="other")
    with pytest.raises(SettingError, match="must share a batch of the same tokens"):
        hb.compare_runs([runs["own"], other], matching="tokens")
    with pytest.raises(SettingError, match="matching must be"):
        compared(runs, "own", "twin", matching="magic")
    with pytest.raises(SettingError, match=r"run must be .* Run"):
        hb.compare_runs([runs["own"], "a path"])
