"""Theory 3: the order in full, the tie interval over every choice another order could make."""

import itertools
import math

import numpy as np


def product_order(functions):
    """Index tuples of all product functions in the total order; `functions` is one list an axis."""
    indices = itertools.product(*(range(len(listed)) for listed in functions))

    def key(index):
        chosen = [listed[j] for listed, j in zip(functions, index, strict=True)]
        levels = [f.level for f in chosen]
        return (-math.prod(f.support for f in chosen), sum(levels), levels[0], index)

    return sorted(indices, key=key)


def support_of(index, functions):
    return math.prod(listed[j].support for listed, j in zip(functions, index, strict=True))


def haar_entropy(f, coefficients, functions, k, p):
    """All figures of one head (or network) as a dictionary; `f` is the head itself."""
    order = product_order(functions)
    powers = {index: abs(float(coefficients[index])) ** p for index in order}
    chosen = order[:k]
    cut = support_of(chosen[-1], functions)
    above = [index for index in order if support_of(index, functions) > cut]
    tied = [index for index in order if support_of(index, functions) == cut]
    fixed = sum(powers[index] for index in above)
    choices = [
        fixed + sum(powers[index] for index in pick)
        for pick in itertools.combinations(tied, len(chosen) - len(above))
    ]
    f = np.asarray(f, dtype=float)
    raw = sum(powers[index] for index in chosen)
    constant = float(f.mean()) * math.sqrt(f.size)
    norm = math.sqrt(sum(value * value for value in f.ravel()))
    spread = math.sqrt(sum((value - f.mean()) ** 2 for value in f.ravel()))
    everything = sum(powers.values())
    energy = sum(float(coefficients[index]) ** 2 for index in chosen)
    return {
        "raw": raw,
        "normalised": raw / norm**p if norm > 0 else 0.0,
        "mean_removed": (raw - abs(constant) ** p) / spread**p if spread > 0 else 0.0,
        "tie_interval": (min(choices), max(choices)),
        "constant": constant,
        "energy_share": energy / norm**2 if norm > 0 else 0.0,
        "all_scales": everything,
        "fine_share": (everything - raw) / everything if everything > 0 else 0.0,
        "norm": norm,
    }
