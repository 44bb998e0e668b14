"""Haar trees beside the questionnaire and scipy's linkages, side by side in one run.

One pass over the three axes of a 256 x 256 x 128 tensor (float32), rotations included, against three
iterations of the questionnaire, and against ``scipy.cluster.hierarchy.linkage`` on the slices of the same
three axes. Each round times all of them, so that they see the same machine; the ratio of a round is
what is told, its median and its range.

    python benchmarks/haar_trees.py
"""

import statistics
import time

import numpy as np
from attention_tensor import attention_tensor
from machine import machine_line
from scipy.cluster.hierarchy import linkage

import haarbor as hb

ROUNDS = 5


def slices(X):
    """One matrix per axis, one row per item."""
    return [np.moveaxis(X, axis, 0).reshape(X.shape[axis], -1) for axis in range(X.ndim)]


def scipy_linkages(rows, method):
    for matrix in rows:
        linkage(matrix, method)


def seconds(work):
    """Wall time of one call."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main():
    print(machine_line())
    X = attention_tensor().astype(np.float32)
    rows = slices(X)
    works = {
        "Haar trees, one pass": lambda: hb.organize(X, tree="haar", n_iterations=1),
        "Haar trees, until settled": lambda: hb.organize(X, tree="haar"),
        "questionnaire, three iterations": lambda: hb.organize(X),
        "scipy, average linkage": lambda: scipy_linkages(rows, "average"),
        "scipy, Ward's linkage": lambda: scipy_linkages(rows, "ward"),
    }
    # Compiled, and memory touched, before anything is timed.
    for name in list(works)[:3]:
        works[name]()
    times = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            times[name].append(seconds(work))
    first = next(iter(works))
    for name, took in times.items():
        ratios = [t / one for t, one in zip(took, times[first], strict=True)]
        print(
            f"{name:32s} median {statistics.median(took):6.3f} s, best {min(took):6.3f} s; over one pass "
            f"{statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
    print("passes until settled:", hb.organize(X, tree="haar").n_iterations)


if __name__ == "__main__":
    main()
