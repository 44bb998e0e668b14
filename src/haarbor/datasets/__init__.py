"""Synthetic attention tensors and matrices, for a first look and for tests."""

from haarbor.datasets._haar_series import haar_series
from haarbor.datasets._synthetic_attention import SyntheticNetwork, synthetic_attention, synthetic_network

__all__ = [
    "SyntheticNetwork",
    "haar_series",
    "synthetic_attention",
    "synthetic_network",
]
