"""Theory 1.3 and 1.4."""

import math

import numpy as np

from tests.reference.folders import folders_of_level, median
from tests.reference.markov import markov_spectrum

# What rounding leaves between identical items.
SAME = 1e-10


def flexible_tree(values, psi, constant=1.0):
    n = len(psi)
    levels = [list(range(n))]
    t = 1
    while len(set(levels[0])) > 1:
        points = [[(value**t) * psi[i][j] for j, value in enumerate(values)] for i in range(n)]
        folders = folders_of_level(levels[0])
        m = len(folders)
        B = [[0.0] * m for _ in range(m)]
        for f in range(m):
            for g in range(m):
                pairs = [math.dist(points[x], points[y]) for x in folders[f] for y in folders[g]]
                B[f][g] = sum(pairs) / len(pairs)
        clusters = _identical(B, SAME if t == 1 else 0.0)
        if len(set(clusters)) == m:
            clusters = _greedy_joins(B, constant)
            t *= 2
        row = [0] * n
        for f, items in enumerate(folders):
            for item in items:
                row[item] = clusters[f]
        levels.insert(0, row)
    return levels


def _identical(B, zero):
    m = len(B)
    cluster = list(range(m))
    for f in range(m):
        for g in range(f):
            if B[f][g] <= zero:
                old, new = cluster[f], cluster[g]
                cluster = [new if c == old else c for c in cluster]
    return cluster


def _greedy_joins(B, constant):
    m = len(B)
    B = [[math.inf if f == g else B[f][g] for g in range(m)] for f in range(m)]
    threshold = median([entry for row in B for entry in row])
    penalty = threshold / constant
    cluster = [{f} for f in range(m)]
    proposing = set(range(m))
    joined = False
    while proposing:
        row = min(sorted(proposing), key=lambda f: min(B[f]))
        d = min(B[row])
        if d >= threshold and joined:
            break
        g = B[row].index(d)
        one, two = cluster[row], cluster[g]
        single = len(one) == 1 and len(two) == 1
        if single or d < penalty * 2.0 ** (1 - len(one) * len(two)):
            union = one | two
            for f in union:
                cluster[f] = union
            proposing -= {row, g}
            joined = True
        else:
            B[row][g] = math.inf
    return [min(c) for c in cluster]


def binary_tree(W, cut="zero"):
    W = np.asarray(W, dtype=float)
    n = len(W)
    levels = [[0] * n]
    while len(set(levels[-1])) < n:
        row = [0] * n
        number = 0
        for items in folders_of_level(levels[-1]):
            for part in _halves(W, items, cut):
                for item in part:
                    row[item] = number
                number += 1
        levels.append(row)
    return levels


def _halves(W, items, cut):
    if len(items) == 1:
        return [items]
    if len(items) == 2:
        return [items[:1], items[1:]]
    _, psi = markov_spectrum([[W[i][j] for j in items] for i in items], 2)
    second = [row[1] for row in psi]
    # The documented sign: the entry of largest size is positive.
    if max(second, key=abs) < 0:
        second = [-value for value in second]
    left = [item for item, value in zip(items, second, strict=True) if value >= 0]
    right = [item for item, value in zip(items, second, strict=True) if value < 0]
    if cut == "balanced" or not left or not right:
        ranked = sorted(range(len(items)), key=lambda place: -second[place])
        half = (len(items) + 1) // 2
        left = [items[place] for place in ranked[:half]]
        right = [items[place] for place in ranked[half:]]
    return [left, right]
