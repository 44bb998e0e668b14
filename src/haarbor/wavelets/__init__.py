"""Haar analysis on trees, the entropies made from it, and their stability over batches."""

from haarbor.wavelets._coefficient_decay import CoefficientDecay, coefficient_decay, huber_fit, huber_line
from haarbor.wavelets._device_haar import device_coefficients, sum_of_sizes
from haarbor.wavelets._entropy import (
    HeadEntropy,
    NetworkEntropy,
    head_entropy,
    network_entropy,
    sorted_coefficients,
)
from haarbor.wavelets._haar_rows import write_haar_rows
from haarbor.wavelets._haar_scales import haar_scales
from haarbor.wavelets._haar_system import HaarSystem, haar_basis, haar_system
from haarbor.wavelets._haar_transform import haar_l1, haar_transform, inverse_haar_transform
from haarbor.wavelets._holder import HolderExponent, holder_exponent
from haarbor.wavelets._product_order import largest_products
from haarbor.wavelets._stability import RankingStability, ranking_stability
from haarbor.wavelets._streamed_entropy import streamed_head_entropy, streamed_network_entropy

__all__ = [
    "CoefficientDecay",
    "HaarSystem",
    "HeadEntropy",
    "HolderExponent",
    "NetworkEntropy",
    "RankingStability",
    "coefficient_decay",
    "device_coefficients",
    "haar_basis",
    "haar_l1",
    "haar_scales",
    "haar_system",
    "haar_transform",
    "head_entropy",
    "holder_exponent",
    "huber_fit",
    "huber_line",
    "inverse_haar_transform",
    "largest_products",
    "network_entropy",
    "ranking_stability",
    "sorted_coefficients",
    "streamed_head_entropy",
    "streamed_network_entropy",
    "sum_of_sizes",
    "write_haar_rows",
]
