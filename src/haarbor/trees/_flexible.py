"""Flexible tree: folders join from the leaves up, and the diffusion time doubles from level to level."""

from __future__ import annotations

import numpy as np

from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import SettingError
from haarbor.options import require_real_number
from haarbor.spectral import MarkovSpectrum, entries_in_order
from haarbor.trees._partition_tree import PartitionTree

__all__ = ["flexible_tree"]

# Rounding in the eigenvectors puts identical items at most this far apart, on a scale on which
# the constant eigenvector is 1.
_IDENTICAL = 1e-12
# Folders that are still apart by then belong to different components: more time changes nothing.
_LONGEST_TIME = 2.0**1000


def flexible_tree(spectrum: MarkovSpectrum, constant: float = 1.0) -> PartitionTree:
    r"""Bottom-up tree of the items of a Markov chain.

    Singletons join into folders by their diffusion distance; then the diffusion time doubles and
    the folders join again, until one is left.

    Parameters
    ----------
    spectrum : MarkovSpectrum
        Eigenpairs of ``n`` items.
    constant : float, default 1
        The :math:`c` below; the larger it is, the harder it is for a cluster to grow.

    Returns
    -------
    PartitionTree

    Raises
    ------
    SettingError
        If `constant` is not positive.

    See Also
    --------
    haarbor.binary_tree : Top-down tree that splits in two.
    haarbor.haar_tree : Tree with a small l1 norm.
    haarbor.build_tree : A tree by any of the three builders.
    haarbor.markov_spectrum : Eigenpairs of an affinity.

    Notes
    -----
    At time :math:`t = 1, 2, 4, \dots` the distance :math:`B` of two folders is the mean diffusion
    distance of their items; :math:`m` is the median of all entries of :math:`B`, its infinite
    diagonal included, and :math:`p = m/c`. Nearest pairs come first. Two single folders join; a
    single folder joins a cluster of :math:`s` only if nearer than :math:`p \, 2^{1-s}`; the round ends
    at distance :math:`m`. Identical items have distance zero and would drag the median to zero, so
    they become folders of their own, one level above the singletons, before the first round.
    Ties go to the first index. Cost :math:`O(n^2)` per level once the spectrum is known.

    Examples
    --------
    >>> from haarbor import markov_spectrum
    >>> near, far = 0.9, 0.1
    >>> affinity = [[1, near, far, far], [near, 1, far, far], [far, far, 1, near], [far, far, near, 1]]
    >>> flexible_tree(markov_spectrum(affinity)).levels.tolist()
    [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 2, 3]]
    """
    if not isinstance(spectrum, MarkovSpectrum):
        raise SettingError(
            f"spectrum must be a MarkovSpectrum; found {type(spectrum).__name__}. "
            "Pass markov_spectrum(affinity), or the affinity to build_tree."
        )
    eagerness = require_real_number("the tree constant", constant, positive=True)
    from haarbor.trees._joining_kernels import folder_distances, greedy_joins

    n_items = spectrum.n_items
    folder: IntArray = np.arange(n_items)
    partitions = [folder]
    time = 1.0
    while folder.max() > 0:
        between = folder_distances(spectrum.diffusion_coordinates(time), folder, folder.max() + 1)
        np.fill_diagonal(between, np.inf)
        identical = _identical_groups(between, _IDENTICAL if time == 1.0 else 0.0)
        if identical.max() + 1 < between.shape[0]:
            # Diffusion cannot tell these apart, so the time is not doubled for this step.
            folder = identical[folder]
            partitions.append(folder)
            continue
        median = _median_with_infinities(between)
        joined = greedy_joins(between, median, median / eagerness)
        present = np.zeros(joined.size, dtype=np.int64)
        present[joined] = 1
        folder = (np.cumsum(present) - 1)[joined[folder]]
        partitions.append(folder)
        time = min(2.0 * time, _LONGEST_TIME)
    return PartitionTree(np.stack(partitions[::-1]))


def _identical_groups(between: FloatArray, tolerance: float) -> IntArray:
    """Group of each folder, groups numbered from 0, folders within `tolerance` together."""
    if between.min() > tolerance:
        return np.arange(between.shape[0])
    from scipy.sparse.csgraph import connected_components

    groups: IntArray = connected_components(between <= tolerance, directed=False)[1]
    return groups


def _median_with_infinities(between: FloatArray) -> float:
    """Median of all entries of a symmetric matrix with infinity on its diagonal, without a warning."""
    n_folders = between.shape[0]
    middle = between.size // 2
    # In order, every distance comes twice, and the diagonal last: half of the matrix says it all.
    places = [place // 2 for place in (middle - 1, middle) if place < n_folders * (n_folders - 1)]
    low, high = [*entries_in_order(between, places), np.inf][:2]
    return float(high) if between.size % 2 else float((low + high) / 2)
