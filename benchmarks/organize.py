"""Whole questionnaire against the published program's distance sums, side by side in one run.

The program published with arXiv 2506.15541 spends 65 % of its time in scipy's ``pdist`` with the
cityblock metric, so 1.54 times that ``pdist`` time stands for the whole program. It is measured
here on the nine folder-mean matrices of three iterations (float64, every folder of every level),
between runs of ``haarbor.organize`` on the same tensor, 256 x 256 x 128.

    python benchmarks/organize.py
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from attention_tensor import attention_tensor
from machine import machine_line
from scipy.spatial.distance import pdist

import haarbor as hb

PROGRAM_OVER_PDIST = 1.54
RUNS = 7


def folder_means(matrix, tree):
    """Means of the rows of `matrix` over every folder of every level, copies included."""
    means = [np.stack([matrix[items].mean(axis=0) for items in partition]) for partition in tree]
    return np.concatenate(means)


def published_matrices(X, history):
    """Weighted folder-mean matrices of the published loop, in its order, one row an item."""
    tensors = {"query": X, "key": X.transpose(1, 0, 2), "head": X.transpose(2, 0, 1)}
    for i in range(3):
        yield "head", tensors["head"], history["query"][0], history["key"][0]
        yield "query", tensors["query"], history["key"][i], history["head"][i]
        yield "key", tensors["key"], history["query"][i + 1], history["head"][i]


def features(tensor, first, second):
    """(n, folders x folders) matrix of one axis against the trees of the other two."""
    once = folder_means(np.ascontiguousarray(tensor.transpose(1, 0, 2)).reshape(tensor.shape[1], -1), first)
    once = once.reshape(-1, tensor.shape[0], tensor.shape[2]).transpose(2, 1, 0)
    twice = folder_means(np.ascontiguousarray(once).reshape(tensor.shape[2], -1), second)
    twice = twice.reshape(-1, tensor.shape[0], first.n_folders)
    weighted = twice * (second.weights()[:, None, None] * first.weights()[None, None, :])
    return np.ascontiguousarray(weighted.transpose(1, 2, 0)).reshape(tensor.shape[0], -1)


def seconds(work):
    """Wall time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def peak_memory(dtype):
    """Peak resident memory in MB of a fresh process that organises the tensor; before, and in all."""
    code = (
        "import re, sys; sys.path.insert(0, sys.argv[1]); import haarbor as hb;"
        "from attention_tensor import attention_tensor; X = attention_tensor().astype(sys.argv[2]);"
        "text = lambda: open('/proc/self/status').read();"
        "status = lambda key: 1.024e-3 * int(re.search(key + r':\\s+(\\d+)', text())[1]);"
        "before = status('VmRSS'); hb.organize(X, refine='published'); print(before, status('VmHWM'))"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), dtype]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return tuple(float(word) for word in done.stdout.split())


def main():
    print(machine_line())
    X = attention_tensor()
    single = X.astype(np.float32)
    organised = hb.organize(X, refine="published")
    hb.organize(single, refine="published")
    pdist_seconds = 0.0
    work = 0
    ours = {"float64": [], "float32": [], "latest": []}
    for axis, tensor, first, second in published_matrices(X, organised.history):
        matrix = features(tensor, first, second)
        took = seconds(lambda matrix=matrix: pdist(matrix, "cityblock"))
        pdist_seconds += took
        work += matrix.shape[0] * (matrix.shape[0] - 1) // 2 * matrix.shape[1]
        print(f"  pdist {axis:5s} {matrix.shape[0]} x {matrix.shape[1]}: {took:.2f} s")
        # Ours in between, so that both see the same machine.
        ours["float64"].append(seconds(lambda: hb.organize(X, refine="published")))
        ours["float32"].append(seconds(lambda: hb.organize(single, refine="published")))
        ours["latest"].append(seconds(lambda: hb.organize(X)))
    program = PROGRAM_OVER_PDIST * pdist_seconds
    print(f"pdist, nine matrices: {pdist_seconds:.2f} s ({work / pdist_seconds / 1e9:.2f} G differences/s)")
    print(f"published program, {PROGRAM_OVER_PDIST} x that: {program:.2f} s")
    for name, label in (
        ("float64", "organize(refine='published'), float64"),
        ("float32", "organize(refine='published'), float32"),
        ("latest", "organize() (refine='latest'), float64"),
    ):
        median = statistics.median(ours[name])
        ratio = program / median
        print(f"{label}: median {median:.3f} s, best {min(ours[name]):.3f} s, {ratio:.1f} times faster")
    trees = organised.trees
    heads = statistics.median(seconds(lambda: hb.head_entropy(X, trees)) for _ in range(RUNS))
    network = statistics.median(seconds(lambda: hb.network_entropy(X, trees)) for _ in range(RUNS))
    print(f"entropies of 128 heads {heads:.3f} s, of the network {network:.3f} s")
    if Path("/proc/self/status").exists():
        limit = single.nbytes / 1e6 + 300
        for dtype in ("float64", "float32"):
            before, peak = peak_memory(dtype)
            print(
                f"peak memory of the whole process, {dtype} input: {peak:.0f} MB "
                f"({before:.0f} MB before the call; the tensor in float32 plus 300 MB is {limit:.0f} MB)"
            )


if __name__ == "__main__":
    main()
