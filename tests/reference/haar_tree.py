"""Theory 10 in plain Python: Haar linkage, rotations, and every binary tree of a few items.

A tree is an item, or a pair of trees.
"""

import math


def items_of(tree):
    return [tree] if isinstance(tree, int) else items_of(tree[0]) + items_of(tree[1])


def mean_of(tree, rows):
    items = items_of(tree)
    return [sum(rows[item][f] for item in items) / len(items) for f in range(len(rows[0]))]


def term(one, two, rows):
    """What a folder with the children `one` and `two` adds to the l1 norm."""
    a, b = len(items_of(one)), len(items_of(two))
    apart = sum(abs(x - y) for x, y in zip(mean_of(one, rows), mean_of(two, rows), strict=True))
    return math.sqrt(a * b / (a + b)) * apart


def terms(tree, rows):
    """Sum of the terms of all folders of a tree."""
    if isinstance(tree, int):
        return 0.0
    return term(*tree, rows) + terms(tree[0], rows) + terms(tree[1], rows)


def norm(tree, rows):
    """l1 norm of the Haar expansion of the rows on a tree."""
    return math.sqrt(len(rows)) * sum(abs(x) for x in mean_of(tree, rows)) + terms(tree, rows)


def steps(tree):
    """Steps from the root to every leaf, added."""
    return 0 if isinstance(tree, int) else len(items_of(tree)) + steps(tree[0]) + steps(tree[1])


def haar_linkage(rows):
    """Greedy joins; of equal terms the pair with the fewest items, then the first places."""
    places = list(range(len(rows)))
    while len(places) > 1:
        pairs = [(i, j) for i in range(len(places)) for j in range(i + 1, len(places))]
        i, j = min(
            pairs,
            key=lambda p: (
                term(places[p[0]], places[p[1]], rows),
                len(items_of(places[p[0]])) + len(items_of(places[p[1]])),
                p,
            ),
        )
        places[i] = (places[i], places[j])
        del places[j]
    return places[0]


def rotations_of(tree):
    """Every tree that one rotation makes of a tree."""
    if isinstance(tree, int):
        return
    one, two = tree
    for outer, inner in ((one, two), (two, one)):
        if not isinstance(inner, int):
            yield (inner[1], (outer, inner[0]))
            yield (inner[0], (outer, inner[1]))
    yield from ((changed, two) for changed in rotations_of(one))
    yield from ((one, changed) for changed in rotations_of(two))


def all_trees(items):
    """Every binary tree on a list of items, each once."""
    if len(items) == 1:
        yield items[0]
        return
    first, rest = items[0], items[1:]
    for chosen in range(2 ** len(rest) - 1):
        mine = [first] + [item for k, item in enumerate(rest) if chosen >> k & 1]
        yours = [item for k, item in enumerate(rest) if not chosen >> k & 1]
        for left in all_trees(mine):
            for right in all_trees(yours):
                yield (left, right)


def least_terms(rows):
    """Least sum of terms over all binary trees, by the best split of every set of items."""
    n = len(rows)
    means = {}
    for chosen in range(1, 2**n):
        items = [item for item in range(n) if chosen >> item & 1]
        means[chosen] = [sum(rows[item][f] for item in items) / len(items) for f in range(len(rows[0]))]
    best = {}
    for chosen in range(1, 2**n):
        size = chosen.bit_count()
        if size == 1:
            best[chosen] = 0.0
            continue
        found = math.inf
        part = (chosen - 1) & chosen
        while part:
            rest = chosen ^ part
            if part > rest:
                a, b = part.bit_count(), rest.bit_count()
                apart = sum(abs(x - y) for x, y in zip(means[part], means[rest], strict=True))
                found = min(found, math.sqrt(a * b / size) * apart + best[part] + best[rest])
            part = (part - 1) & chosen
        best[chosen] = found
    return best[2**n - 1]


def folders_of(tree):
    """Folders of a tree as a set of frozen sets of items."""
    found = {frozenset(items_of(tree))}
    return found if isinstance(tree, int) else found | folders_of(tree[0]) | folders_of(tree[1])


def levels_of(tree, n):
    """One row for each step from the root, as `PartitionTree` wants them."""
    rows, current = [], [tree]
    while True:
        row = [0] * n
        for number, folder in enumerate(current):
            for item in items_of(folder):
                row[item] = number
        rows.append(row)
        if len(current) == n:
            return rows
        current = [child for folder in current for child in ([folder] if isinstance(folder, int) else folder)]
