"""Attention tensors made by the package, for a first look and for tests."""

from haarbor.datasets.synthetic_attention import SyntheticNetwork, synthetic_attention, synthetic_network

__all__ = ["SyntheticNetwork", "synthetic_attention", "synthetic_network"]
