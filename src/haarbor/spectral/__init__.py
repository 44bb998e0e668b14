"""Affinities between slices, their Markov spectrum, and the diffusion map."""

from haarbor.spectral._affinity import (
    affinity_of_distances,
    cosine_affinity,
    cosine_affinity_of_blocks,
    distance_affinity,
    gaussian_affinity,
)
from haarbor.spectral._diffusion import DiffusionMap, diffusion_map
from haarbor.spectral._markov import (
    MarkovSpectrum,
    checked_affinity,
    markov_spectrum,
    require_own_affinity,
    require_symmetric,
)

__all__ = [
    "DiffusionMap",
    "MarkovSpectrum",
    "affinity_of_distances",
    "checked_affinity",
    "cosine_affinity",
    "cosine_affinity_of_blocks",
    "diffusion_map",
    "distance_affinity",
    "gaussian_affinity",
    "markov_spectrum",
    "require_own_affinity",
    "require_symmetric",
]
