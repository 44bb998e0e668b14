"""Affinities between slices, their Markov spectrum, and the diffusion map."""

from haarbor.spectral._affinity import (
    SMALL_SQUARES,
    affinity_of_distances,
    affinity_of_products,
    cosine_affinity,
    cosine_affinity_of_blocks,
    distance_affinity,
    gaussian_affinity,
    kernel_of_distances,
)
from haarbor.spectral._device_spectrum import device_spectrum
from haarbor.spectral._diffusion import DiffusionMap, diffusion_map
from haarbor.spectral._entries_in_order import entries_in_order
from haarbor.spectral._markov import (
    MarkovSpectrum,
    checked_affinity,
    markov_spectrum,
    require_own_affinity,
    require_symmetric,
)

__all__ = [
    "SMALL_SQUARES",
    "DiffusionMap",
    "MarkovSpectrum",
    "affinity_of_distances",
    "affinity_of_products",
    "checked_affinity",
    "cosine_affinity",
    "cosine_affinity_of_blocks",
    "device_spectrum",
    "diffusion_map",
    "distance_affinity",
    "entries_in_order",
    "gaussian_affinity",
    "kernel_of_distances",
    "markov_spectrum",
    "require_own_affinity",
    "require_symmetric",
]
