"""Theory 1.6 for any number of axes; all iterations are made, repeated trees or not."""

import numpy as np

from tests.reference.affinity import cosine_affinity, distance_affinity, gaussian_affinity, unfolded
from tests.reference.markov import markov_spectrum
from tests.reference.tree_emd import tree_emd
from tests.reference.trees import binary_tree, flexible_tree


def organize(
    X, *, last, n_iterations, initial="cosine", alpha=0.0, beta=1.0, tree="flexible", tree_constant=1.0,
    cut="zero", refine="latest",
):  # fmt: skip
    """Trees, oldest first, and last affinities, keyed by the position of their axis.

    `last` is the position of the axis without an initial tree; `alpha` and `beta` are numbers or
    mappings of positions to numbers.
    """
    X = np.asarray(X, dtype=float)
    places = range(X.ndim)
    alphas = alpha if isinstance(alpha, dict) else dict.fromkeys(places, alpha)
    betas = beta if isinstance(beta, dict) else dict.fromkeys(places, beta)
    affinity_of = {"cosine": cosine_affinity, "gaussian": gaussian_affinity}[initial]

    def tree_of(affinity):
        if tree == "binary":
            return binary_tree(affinity, cut)
        return flexible_tree(*markov_spectrum(affinity), tree_constant)

    first = [place for place in places if place != last]
    initial_affinities = {place: affinity_of(unfolded(X, place)) for place in first}
    history = {place: [tree_of(initial_affinities[place])] for place in first}
    history[last] = []
    affinities = {}
    for _ in range(n_iterations):
        for place in [last, *first]:
            if place == last and refine == "published" and len(first) > 1:
                others = {other: history[other][0] for other in first}
            else:
                others = {other: history[other][-1] for other in places if other != place}
            D = tree_emd(X, others, place, alphas, betas)
            affinities[place] = distance_affinity(D)
            history[place].append(tree_of(affinities[place]))
    return history, affinities, initial_affinities
