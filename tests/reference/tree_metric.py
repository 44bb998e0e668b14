"""Tree distance, the distance between trees, and the folders they share."""

from tests.reference.folders import all_folders


def tree_distance(levels, x, y):
    if x == y:
        return 0.0
    common = [items for _, items in all_folders(levels) if x in items and y in items]
    return min(len(items) for items in common) / len(levels[0])


def partition_distance(one, two):
    n = len(one[0])
    pairs = [(x, y) for x in range(n) for y in range(n) if x != y]
    if not pairs:
        return 0.0
    return sum(abs(tree_distance(one, x, y) - tree_distance(two, x, y)) for x, y in pairs) / len(pairs)


def shared_folders(one, two):
    n = len(one[0])
    mine = {tuple(items) for _, items in all_folders(one) if 1 < len(items) < n}
    yours = {tuple(items) for _, items in all_folders(two) if 1 < len(items) < n}
    return len(mine & yours) / len(mine | yours) if mine | yours else 1.0
