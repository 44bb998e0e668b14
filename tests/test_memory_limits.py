"""What would not fit is refused before it is tried, and says its size."""

import subprocess
import sys

import numpy as np
import pytest

import haarbor as hb
from haarbor import memory
from tests.samples import HALVES, PAIR

LONG = np.broadcast_to(1.0, (10**9, 2))
WIDE = np.broadcast_to(np.float32(1), (10**6, 10**6))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hb.organize(LONG), "distances between 1000000000 items of axis 'query' would take 40.0 EB"),
        (lambda: hb.organize(LONG.T), "distances between 1000000000 items of axis 'key'"),
        (lambda: hb.organize(WIDE), "distances between 1000000 items"),
        (lambda: hb.tree_emd(LONG, {"key": PAIR}), "distances between 1000000000 items of axis 'query'"),
        (lambda: hb.cosine_affinity(LONG), "affinities of 1000000000 slices"),
        (lambda: hb.gaussian_affinity(LONG), "affinities of 1000000000 slices"),
        (lambda: hb.cosine_affinity(WIDE), "affinities of 1000000 slices would take 16.0 TB"),
        (lambda: hb.distance_affinity(WIDE), "distances of 1000000 items"),
        (lambda: hb.markov_spectrum(WIDE), "affinity of 1000000 items would take 24.0 TB"),
        (lambda: hb.ranking_stability(LONG), "agreement of 1000000000 batches of 2 heads"),
        (lambda: hb.haar_transform(WIDE, {}), r"a tensor of shape \(1000000, 1000000\) in float32"),
        (lambda: hb.PartitionTree(np.broadcast_to(0, (2, 10**10))), "tree of 2 levels on 10000000000 items"),
        (lambda: hb.datasets.synthetic_attention(10**6), "attention of 48 heads on 1000000 tokens"),
        (
            lambda: hb.organize(np.broadcast_to(1.0, (2,) * 26), [f"a{i}" for i in range(26)]),
            "products of the folders of 24 axes",
        ),
    ],
)
def test_absurd_sizes_are_refused(call, message):
    with pytest.raises(hb.ShapeError, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: hb.haar_transform(LONG, {"query": HALVES}),
        lambda: hb.network_entropy(LONG, {"query": HALVES, "key": PAIR}),
        lambda: hb.paraproduct(LONG, HALVES, PAIR),
        lambda: hb.holder_exponent(LONG, HALVES, PAIR),
    ],
)
def test_trees_that_do_not_fit_are_told_before_the_values_are_read(call):
    with pytest.raises(hb.ShapeError, match="must have 1000000000 items like the tensor; found 4"):
        call()


@pytest.mark.parametrize("n_levels", [20_000, 10**9])
def test_levels_without_end_are_refused(n_levels):
    with pytest.raises(hb.TreeError, match=f"at most 1 different levels; found {n_levels}"):
        hb.PartitionTree(np.broadcast_to(0, (n_levels, 1)))


def test_many_small_axes_are_organised():
    X = np.random.default_rng(0).random((2, 1, 2, 1, 2, 2, 1, 2, 2))
    org = hb.organize(X, [f"a{i}" for i in range(9)], n_iterations=1)
    assert [org.trees[axis].n_items for axis in org.axes] == list(X.shape)


def test_an_array_in_a_file_may_be_larger_than_memory(tmp_path, monkeypatch):
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float64, (4, 3))
    X[:] = np.arange(12).reshape(4, 3)
    monkeypatch.setattr(memory, "machine_memory", lambda: 8 * 4 * 3 - 1)
    with pytest.raises(hb.ShapeError, match="a tensor of shape"):
        hb.haar_l1(np.array(X), {})
    assert hb.haar_l1(X, {}) == 66


PROGRAM = """
import re
import sys
import numpy as np
import haarbor as hb

N, HEADS = map(int, sys.argv[1:])
rng = np.random.default_rng(0)
X = np.empty((N, N, HEADS), np.float32)
mask = np.tri(N, dtype=bool)
lag = np.abs(np.arange(N)[:, None] - np.arange(N)[None, :]).astype(np.float32)
for head in range(HEADS):
    # One head at a time, so that making the tensor costs no more than holding it.
    scores = rng.normal(size=(N, N)).astype(np.float32) - lag / np.float32(rng.uniform(4, 64))
    weights = np.where(mask, np.exp(scores), np.float32(0))
    X[:, :, head] = weights / weights.sum(axis=1, keepdims=True)
org = hb.organize(X, n_iterations=2)
assert org.trees["head"].n_items == HEADS
# Not ru_maxrss: that begins with what the parent had when it forked.
status = open("/proc/self/status").read()
peak, libraries = (int(re.search(name + r":\\s+(\\d+)", status)[1]) for name in ("VmHWM", "RssFile"))
# How much of a library counts as held depends on how its file lies in the memory of the system.
print(X.nbytes, 1024 * (peak - libraries))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_a_whole_network_is_organised_in_little_more_than_its_own_size():
    def measured(n_tokens, n_heads):
        command = [sys.executable, "-c", PROGRAM, str(n_tokens), str(n_heads)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    # Once before: where kernels are not compiled yet, the compiler takes more than the tensor. A smaller one
    # would leave some of them to be compiled.
    measured(256, 128)
    size, peak = map(int, measured(256, 128).split())
    assert size == 256 * 256 * 128 * 4
    assert peak < size + 200e6, f"peak {peak / 1e6:.0f} MB for a tensor of {size / 1e6:.0f} MB"
