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
    chain = xp.where(affinity > _SMALLEST_AFFINITY, affinity, 0.0)
    degree = chain.sum(axis=1)
    chain /= degree[:, None]
    chain /= degree[None, :]
    scale = xp.sqrt(chain.sum(axis=1))
    first = scale / xp.sqrt((scale * scale).sum())
    chain /= scale[:, None]
    chain /= scale[None, :]
    # As on the host, the first eigenvalue is raised from 1 to 2, and so set apart from others that are 1.
    values, vectors = xp.linalg.eigh((chain + chain.T) / 2 + first[:, None] * first[None, :])
    sizes: FloatArray = np.abs(device.on_host(values))
    order = np.argsort(-sizes, kind="stable")[1 : min(_N_EIGENPAIRS, sizes.size)]
    psi: FloatArray = device.on_host(vectors[:, xp.asarray(order)] / first[:, None])
    psi = psi * settled_signs(psi)
    return MarkovSpectrum(
        eigenvalues=frozen(np.concatenate([[1.0], sizes[order]])),
        eigenvectors=frozen(np.column_stack([np.ones(sizes.size), psi])),
    )
