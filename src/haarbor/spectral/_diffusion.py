"""Diffusion map: items as points whose distances are diffusion distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from haarbor.array_types import FloatArray, frozen
from haarbor.errors import SettingError
from haarbor.options import require_real_number, require_whole_number
from haarbor.spectral._markov import checked_affinity, markov_spectrum
from haarbor.stored_result import stored_result

__all__ = ["DiffusionMap", "diffusion_map"]


@stored_result("DiffusionMap")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DiffusionMap:
    """Diffusion coordinates of ``n`` items; the constant eigenvector is dropped.

    See Also
    --------
    haarbor.diffusion_map : Coordinates from an affinity.
    """

    coordinates: FloatArray
    """Shape (n, d); column ``j`` belongs to ``eigenvalues[j]``."""
    eigenvalues: FloatArray
    """Shape (d,), decreasing."""
    time: float

    def __repr__(self) -> str:
        n_items, n_dimensions = self.coordinates.shape
        return f"DiffusionMap({n_items} items, {n_dimensions} dimensions, time={self.time:g})"


def diffusion_map(affinity: npt.ArrayLike, dimensions: int = 3, time: float = 1.0) -> DiffusionMap:
    r"""Diffusion map of an affinity, largest non-trivial eigenvalues first.

    Parameters
    ----------
    affinity : array_like of float, shape (n, n)
    dimensions : int, default 3
        Number of coordinates; ``n - 1`` if the items are fewer.
    time : float, default 1
        The :math:`t` below; larger times see coarser structure.

    Returns
    -------
    DiffusionMap

    See Also
    --------
    haarbor.markov_spectrum : Eigenpairs of an affinity.
    haarbor.plots.diffusion_map_figure : Draws the map.

    Notes
    -----
    :math:`i \mapsto (\lambda_2^t \psi_2(i), \lambda_3^t \psi_3(i), \dots)`, see
    :func:`haarbor.markov_spectrum`.

    Examples
    --------
    >>> diffusion_map([[1.0, 0.5], [0.5, 1.0]]).coordinates.round(4).tolist()
    [[0.3333], [-0.3333]]
    """
    n_dimensions = require_whole_number("dimensions", dimensions, 1)
    passed = require_real_number("time", time, least=0)
    matrix = checked_affinity(affinity)
    kept = min(n_dimensions, matrix.shape[0] - 1)
    spectrum = markov_spectrum(matrix, kept + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        coordinates = spectrum.diffusion_coordinates(passed)
    if not np.isfinite(coordinates).all():
        # An eigenvalue 1, of an affinity in several components, is larger by a rounding error.
        raise SettingError(
            f"time must leave the coordinates finite; found {passed:g}, at which they overflow. "
            "Pass a smaller time."
        )
    return DiffusionMap(
        coordinates=frozen(coordinates),
        eigenvalues=frozen(spectrum.eigenvalues[1:].copy()),
        time=passed,
    )
