"""Theory 2: every Haar function written out, every coefficient an inner product."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from tests.reference.folders import folders_of_level


@dataclass
class HaarFunction:
    values: list
    support: int
    level: int
    folder: tuple


def haar_functions(levels):
    """The constant, then level by level, within a level by the smallest item of the folder."""
    n = len(levels[0])
    found = [HaarFunction([1 / math.sqrt(n)] * n, n, 0, tuple(range(n)))]
    for level in range(len(levels) - 1):
        below = folders_of_level(levels[level + 1])
        for folder in folders_of_level(levels[level]):
            children = [child for child in below if child[0] in folder]
            children.sort(key=lambda child: (-len(child), child[0]))
            for i in range(len(children) - 1):
                plus = children[i]
                minus = [item for child in children[i + 1 :] for item in child]
                a, b = len(plus), len(minus)
                norm = math.sqrt(a * b / (a + b))
                values = [0.0] * n
                for item in plus:
                    values[item] = norm / a
                for item in minus:
                    values[item] = -norm / b
                found.append(HaarFunction(values, a + b, level, tuple(folder)))
    return found


def haar_coefficients(X, functions):
    """Inner products with all products of functions; `functions` maps axis positions to lists."""
    X = np.asarray(X, dtype=float)
    result = np.empty(X.shape)
    for index in itertools.product(*(range(size) for size in X.shape)):
        total = 0.0
        ranges = [range(X.shape[p]) if p in functions else [index[p]] for p in range(X.ndim)]
        for position in itertools.product(*ranges):
            weight = X[position]
            for place, listed in functions.items():
                weight *= listed[index[place]].values[position[place]]
            total += weight
        result[index] = total
    return result
