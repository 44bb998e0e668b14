"""Theory 3, last point: top and bottom sets, their overlaps, and rank correlation."""

import math


def extreme_sets(scores, set_size):
    """Top and bottom set of one batch, ties to the first head."""
    heads = range(len(scores))
    top = sorted(heads, key=lambda head: (-scores[head], head))[:set_size]
    bottom = sorted(heads, key=lambda head: (scores[head], head))[:set_size]
    return set(top), set(bottom)


def jaccard(one, two):
    return len(one & two) / len(one | two)


def kendall_tau(one, two):
    """Tau-b: pairs tied in a ranking count in neither direction."""
    n = len(one)
    agree = tied_one = tied_two = 0
    for i in range(n):
        for j in range(i):
            a, b = one[i] - one[j], two[i] - two[j]
            agree += (a * b > 0) - (a * b < 0)
            tied_one += a == 0
            tied_two += b == 0
    pairs = n * (n - 1) / 2
    if pairs in (tied_one, tied_two):
        return math.nan
    return agree / math.sqrt((pairs - tied_one) * (pairs - tied_two))
