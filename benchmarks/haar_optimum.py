"""How far Haar trees are from the least l1 norm over all binary trees, for a few items.

The optimum is found by the best split of every set of items, so 10 items are the most that is quick.

    python benchmarks/haar_optimum.py
"""

import sys
from pathlib import Path

import numpy as np

import haarbor as hb
from haarbor.trees import linked_folders, rotate, row_distances

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.reference.haar_tree import least_terms

DRAWS = 100


def terms(rows, *, rotated):
    """Sum of the terms of the Haar linkage, with or without rotations."""
    n_items = rows.shape[0]
    means = np.empty((2 * n_items - 1, rows.shape[1]))
    means[:n_items] = rows
    found = linked_folders(means, row_distances(means[:n_items], hb.CpuEngine(1)))
    if rotated:
        rotate(found, 0.0, 1)
    return found.terms.sum()


def noise(rng, n_items):
    """Rows without any structure."""
    return rng.normal(size=(n_items, 8))


def attention(rng, n_items):
    """Some keys of a causal head, as rows."""
    X = hb.datasets.synthetic_attention(24, 1, 1, seed=int(rng.integers(2**31)))[:, :, 0]
    return X.T[np.sort(rng.choice(24, n_items, replace=False))]


def main():
    print("norm over the least one: mean (worst of", DRAWS, "draws), and how often it is the least")
    for name, draw in (("noise", noise), ("attention", attention)):
        for n_items in (4, 5, 6, 7):
            rng = np.random.default_rng(n_items)
            samples = [draw(rng, n_items) for _ in range(DRAWS)]
            least = np.array([least_terms(rows.tolist()) for rows in samples])
            told = []
            for rotated in (False, True):
                ratio = np.array([terms(rows, rotated=rotated) for rows in samples]) / least
                share = np.mean(ratio < 1 + 1e-9)
                told.append(f"{ratio.mean():.3f} ({ratio.max():.3f}), least in {share:4.0%}")
            print(f"{name:9s} {n_items} items   linkage {told[0]}   with rotations {told[1]}")


if __name__ == "__main__":
    main()
