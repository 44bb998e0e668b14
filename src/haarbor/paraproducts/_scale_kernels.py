"""Compiled sums up and down a pruned tree along one axis. Nothing here checks its input.

Folders stand with parents before children, folder 0 the root; arrays are (before, folder, after).
"""

from haarbor.compiled import compiled

__all__ = ["add_down", "add_up"]


@compiled()
def add_up(values, parents):
    """Add every folder's values to its parent's, children first: leaves' values become folder sums."""
    for before in range(values.shape[0]):
        for folder in range(parents.size - 1, 0, -1):
            parent = parents[folder]
            for after in range(values.shape[2]):
                values[before, parent, after] += values[before, folder, after]


@compiled()
def add_down(values, parents):
    """Add to every folder's values its parent's, parents first: terms become sums along the path."""
    for before in range(values.shape[0]):
        for folder in range(1, parents.size):
            parent = parents[folder]
            for after in range(values.shape[2]):
                values[before, folder, after] += values[before, parent, after]
