"""Compiled sums up and down a pruned tree along one axis. Inputs are not checked.

Parents are numbered before their children, and folder 0 is the root; arrays have the axes
(before, folder, after).
"""

from haarbor.compiled import compiled

__all__ = ["add_down", "add_up"]


@compiled()
def add_up(values, parents):
    """Add the values of every folder to its parent, children first, so that they become sums over folders."""
    for before in range(values.shape[0]):
        for folder in range(parents.size - 1, 0, -1):
            parent = parents[folder]
            for after in range(values.shape[2]):
                values[before, parent, after] += values[before, folder, after]


@compiled()
def add_down(values, parents):
    """Add the values of its parent to every folder, parents first, so that they become sums along paths."""
    for before in range(values.shape[0]):
        for folder in range(1, parents.size):
            parent = parents[folder]
            for after in range(values.shape[2]):
                values[before, folder, after] += values[before, parent, after]
