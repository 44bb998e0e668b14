"""The same bytes whatever the number of threads, in processes of their own."""

import os
import subprocess
import sys

import numpy as np
import pytest

import haarbor as hb

PROGRAM = """
import hashlib
import numpy as np
import haarbor as hb

rng = np.random.default_rng(5)
scores = rng.normal(size=(70, 70, 40)) * rng.uniform(0.5, 2, size=40)
weights = np.where(np.tri(70, dtype=bool)[:, :, None], np.exp(scores), 0)
X = (weights / weights.sum(axis=1, keepdims=True)).astype(DTYPE)
org = hb.organize(X, n_iterations=2)
matrix = hb.organize(X[:, :, 0] + X[:, :, 1], initial="gaussian", tree="binary", n_iterations=2)
haar = hb.organize(X, tree="haar", n_iterations=2)
entropy = hb.head_entropy(X, org.trees)
network = hb.network_entropy(X, org.trees)
seen = hashlib.sha256()
# Large enough that the eigenproblem would be cut differently for another number of threads.
spectrum = hb.markov_spectrum(hb.gaussian_affinity(rng.normal(size=(400, 8))))
seen.update(spectrum.eigenvectors.tobytes())
for result in (org, matrix, haar):
    for axis in result.axes:
        for tree in result.history[axis]:
            seen.update(tree.levels.tobytes())
        seen.update(result.affinities[axis].tobytes())
        seen.update(result.embedding(axis).tobytes())
for name in ("raw", "normalised", "mean_removed", "tie_interval", "all_scales", "energy_share"):
    seen.update(getattr(entropy, name).tobytes())
seen.update(repr((network.raw, network.tie_interval, network.all_scales)).encode())
print(hb.CpuEngine().threads, seen.hexdigest())
"""


def printed(dtype, haarbor_threads, blas_threads):
    environment = {
        **os.environ,
        "HAARBOR_NUM_THREADS": haarbor_threads,
        "OPENBLAS_NUM_THREADS": blas_threads,
        "OMP_NUM_THREADS": blas_threads,
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("DTYPE", repr(dtype))],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    threads, digest = done.stdout.split()
    assert threads == haarbor_threads
    return digest


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_results_are_the_same_bytes_for_any_number_of_threads(dtype):
    expected = printed(dtype, "1", "1")
    assert printed(dtype, "2", "2") == expected
    assert printed(dtype, "3", "1") == expected


def test_a_masked_paraproduct_is_the_same_for_any_number_of_threads(monkeypatch, rng):
    tree = hb.PartitionTree.from_levels([np.zeros(100, dtype=int), np.arange(100) // 9, np.arange(100)])
    f, mask = rng.normal(size=(100, 100)), np.tri(100, dtype=bool)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("HAARBOR_NUM_THREADS", threads)
        found.append(hb.paraproduct(f, tree, tree, nonlinearity="softmax", mask=mask))
    np.testing.assert_array_equal(found[0].approximation, found[1].approximation)
    np.testing.assert_array_equal(found[0].scale_energy, found[1].scale_energy)
