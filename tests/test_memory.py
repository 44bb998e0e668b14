"""What a whole network costs in memory, measured in a process of its own."""

import subprocess
import sys

import pytest

PROGRAM = """
import re
import numpy as np
import haarbor as hb

N, HEADS = 256, 128
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
print(X.nbytes, 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_a_whole_network_is_organised_in_little_more_than_its_own_size():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    size, peak = map(int, done.stdout.split())
    assert size == 256 * 256 * 128 * 4
    assert peak < size + 300e6, f"peak {peak / 1e6:.0f} MB for a tensor of {size / 1e6:.0f} MB"
