"""Affinities between slices, their Markov spectrum, and the diffusion map."""

from haarbor.spectral.affinity import cosine_affinity, distance_affinity, gaussian_affinity
from haarbor.spectral.diffusion import DiffusionMap, diffusion_map
from haarbor.spectral.markov import MarkovSpectrum, markov_spectrum

__all__ = [
    "DiffusionMap",
    "MarkovSpectrum",
    "cosine_affinity",
    "diffusion_map",
    "distance_affinity",
    "gaussian_affinity",
    "markov_spectrum",
]
