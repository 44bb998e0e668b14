"""Spectrum of the Markov chain of an affinity that lies on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.array_types import FloatArray, frozen
from haarbor.engines import Device
from haarbor.spectral._markov import _N_EIGENPAIRS, _SMALLEST_AFFINITY, MarkovSpectrum, settled_signs

__all__ = ["device_spectrum"]


def device_spectrum(affinity: Any, device: Device) -> MarkovSpectrum:
    """Leading eigenpairs, as :func:`haarbor.markov_spectrum` finds them; they come to the host.

    Parameters
    ----------
    affinity : array of float64 on the device, shape (n, n)
        Symmetric and finite, between 0 and 1, with ones on the diagonal; not checked.
    device : Device

    See Also
    --------
    haarbor.markov_spectrum : Eigenpairs of an affinity.
    """
    xp = device.xp
    # Step by step as on the host: where eigenvalues are equal, rounding decides which vectors are found, and
    # so the tree.
    weights = xp.where(affinity > _SMALLEST_AFFINITY, affinity, 0.0)
    shares = 1.0 / weights.sum(axis=1)
    scale = xp.sqrt((weights * shares).sum(axis=1) * shares)
    shares = shares / scale
    first = scale / xp.sqrt(xp.square(scale).sum())
    symmetric = shares[:, None] * shares * weights + first[:, None] * first
    values, vectors = xp.linalg.eigh(symmetric)
    # They ascend, so that the largest in size are among the first or the last: these come over, all at once.
    n_items = values.size
    if n_items > 2 * _N_EIGENPAIRS:
        values, vectors = (
            xp.concatenate([some[..., :_N_EIGENPAIRS], some[..., -_N_EIGENPAIRS:]], axis=-1)
            for some in (values, vectors)
        )
    found: FloatArray = device.on_host(xp.concatenate([values[None], vectors / first[:, None]]))
    sizes = np.abs(found[0])
    order = np.argsort(-sizes, kind="stable")[1 : min(_N_EIGENPAIRS, n_items)]
    psi = found[1:, order]
    psi *= settled_signs(psi)
    return MarkovSpectrum(
        eigenvalues=frozen(np.concatenate([[1.0], sizes[order]])),
        eigenvectors=frozen(np.column_stack([np.ones(n_items), psi])),
    )
