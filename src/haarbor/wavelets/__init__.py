"""Haar analysis on trees, the entropies made from it, and their stability over batches."""

from haarbor.wavelets.entropy import (
    HeadEntropy,
    NetworkEntropy,
    head_entropy,
    network_entropy,
    sorted_coefficients,
)
from haarbor.wavelets.haar_system import HaarSystem, haar_basis, haar_system
from haarbor.wavelets.haar_transform import haar_l1, haar_transform, inverse_haar_transform
from haarbor.wavelets.holder import HolderExponent, holder_exponent
from haarbor.wavelets.stability import RankingStability, ranking_stability

__all__ = [
    "HaarSystem",
    "HeadEntropy",
    "HolderExponent",
    "NetworkEntropy",
    "RankingStability",
    "haar_basis",
    "haar_l1",
    "haar_system",
    "haar_transform",
    "head_entropy",
    "holder_exponent",
    "inverse_haar_transform",
    "network_entropy",
    "ranking_stability",
    "sorted_coefficients",
]
