"""Trees of rows and columns that refine each other by tree-Wasserstein distances, as a baseline.

Written from the text of Lin, Coifman, Mishne and Talmon, "Joint hierarchical representation learning of
samples and features via informed tree-Wasserstein distance" (NeurIPS 2025, arXiv 2501.03627), whose idea it
is; their program was not looked at. The distance between two rows is the tree-Wasserstein distance of their
histograms on the tree of the columns, and the other way round. A tree is built from distances by diffusion:
the densities of a point at the times 1, 1/2, 1/4 ... are placed in hyperbolic half-spaces, and two points
join the lower, the lower the geodesics between them reach. Algorithm 2 also rebuilds the data at each step
from the Haar functions of the trees with the largest coefficients.

Where the text leaves a choice, or searches for the best value on each set, this is fixed here: folders are
compared by the mean score of their pairs (on made-up blocks with noise better than by the least); a folder is
as high as half the mean distance of the pairs that it joins; the width of the Gaussian kernel is the median
distance; 10 times; at most 10 iterations; no regulariser, which the paper allows; the filter keeps the
functions that carry nine tenths of the l1 norm; and histograms of data with negative entries begin at their
least entry, as those of filtered data do there.
"""

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist, pdist, squareform

import haarbor as hb

N_TIMES = 10
KEPT = 0.9
N_ITERATIONS = 10


def coupled_trees(X, *, filtered):
    """Trees of the rows and of the columns of a matrix, by algorithm 2 if `filtered`, else by algorithm 1.

    Parameters
    ----------
    X : ndarray of float, shape (n, m)
    filtered : bool

    Returns
    -------
    tuple of PartitionTree
        Of the rows, and of the columns.
    """
    sides = [X, X.T]
    between = [squareform(pdist(side, "cosine")) for side in sides]
    least = [None, None]
    before = None
    for _ in range(N_ITERATIONS):
        joined = [_joins(distances) for distances in between]
        trees = tuple(hb.PartitionTree.from_linkage(joins) for joins, _ in joined)
        if trees == before:
            break
        before = trees
        for side in (0, 1):
            # Rows are signals on the tree of the columns, and columns on that of the rows.
            if filtered:
                sides[side], least[side] = _filtered(sides[side], trees[1 - side], least[side])
            between[side] = _tree_wasserstein(sides[side], *joined[1 - side])
    return trees


def _joins(distances):
    """Linkage matrix of the points, and the height of every folder."""
    n = len(distances)
    pairs = distances[np.triu_indices(n, 1)]
    width = np.median(pairs[pairs > 0]) ** 2 if (pairs > 0).any() else 1.0
    kernel = np.exp(-(distances**2) / width)
    degree = kernel.sum(axis=0)
    root = np.sqrt(degree)
    values, vectors = np.linalg.eigh(kernel / np.outer(root, root))
    values = np.clip(values, 0, None)
    score, apart = np.zeros((n, n)), np.zeros((n, n))
    for scale in range(N_TIMES):
        # Columns: where the weight of each point is after this time.
        power = (vectors * values ** (2.0**-scale)) @ vectors.T
        density = np.sqrt(np.clip(power * root[:, None] / root[None, :], 0, None))
        gap = np.sqrt(np.clip(_squares(density), 0, None))
        height = 2.0 ** (scale / 2 - 2)
        apart += 2 * np.arcsinh(gap / (2 * height))
        # Top of the half circle through two points of equal height; tops have the geometric mean as theirs.
        score += np.log(np.hypot(height, gap / 2))
    score = np.exp(score / N_TIMES)
    np.fill_diagonal(score, 0)
    return _linked(score, apart / 2)


def _squares(columns):
    gram = columns.T @ columns
    size = np.diag(gram)
    return size[:, None] + size[None, :] - 2 * gram


def _linked(score, height):
    """Average linkage by `score`; a folder has the mean height of the pairs that it joins."""
    n = len(score)
    found = linkage(squareform(score, checks=False), "average")
    items = [np.array([item]) for item in range(n)]
    heights = np.zeros(2 * n - 1)
    for new, (one, two) in enumerate(found[:, :2].astype(int), start=n):
        mean = height[np.ix_(items[one], items[two])].mean()
        heights[new] = max(mean, heights[one], heights[two])
        items.append(np.concatenate([items[one], items[two]]))
    return found, heights


def _tree_wasserstein(signals, joins, heights):
    """Distances between rows, as histograms on the leaves of a tree."""
    histogram = signals - np.minimum(signals.min(axis=1, keepdims=True), 0)
    histogram = histogram / histogram.sum(axis=1, keepdims=True)
    n = histogram.shape[1]
    mass = np.zeros((2 * n - 1, len(histogram)))
    mass[:n] = histogram.T
    edge = np.zeros(2 * n - 1)
    for new, (one, two) in enumerate(joins[:, :2].astype(int), start=n):
        mass[new] = mass[one] + mass[two]
        edge[one], edge[two] = heights[new] - heights[one], heights[new] - heights[two]
    weighted = (mass * edge[:, None]).T
    return cdist(weighted, weighted, "cityblock")


def _filtered(signals, tree, least):
    """Signals rebuilt from the Haar functions that carry most of the l1 norm, and the norm to be kept."""
    axes, trees = ("signal", "place"), {"place": tree}
    coefficients = hb.haar_transform(signals, trees, axes)
    share = np.abs(coefficients).sum(axis=0)
    if least is None:
        least = KEPT * share.sum()
    order = np.argsort(-share, kind="stable")
    n_kept = int(np.searchsorted(np.cumsum(share[order]), least)) + 1
    kept = np.zeros_like(coefficients)
    kept[:, order[:n_kept]] = coefficients[:, order[:n_kept]]
    return hb.inverse_haar_transform(kept, trees, axes), least
