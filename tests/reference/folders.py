"""Folders of a tree as plain lists of items."""


def folders_of_level(row):
    """Folders of one level, each a sorted list of items, in order of their smallest item."""
    found = []
    for item in range(len(row)):
        for folder in found:
            if row[folder[0]] == row[item]:
                folder.append(item)
                break
        else:
            found.append([item])
    return found


def all_folders(levels):
    """Every (level, items), carried-down copies included."""
    return [(level, items) for level, row in enumerate(levels) for items in folders_of_level(row)]


def same_partitions(one, two):
    """Whether two trees have the same folders on every level."""
    if len(one) != len(two):
        return False
    return all(folders_of_level(a) == folders_of_level(b) for a, b in zip(one, two, strict=True))


def median(values):
    """Middle value, or the mean of the two middle ones."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
