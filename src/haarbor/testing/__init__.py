"""Hypothesis strategies for programs that build on Haarbor: trees, attention, affinities.

Needs hypothesis; nothing else in Haarbor imports this package.
"""

try:
    import hypothesis  # noqa: F401
except ImportError:
    raise ImportError(
        "haarbor.testing needs the hypothesis package; install it with pip install hypothesis."
    ) from None

from haarbor.testing._affinities import affinities
from haarbor.testing._attention_samples import AttentionSample, attention_samples
from haarbor.testing._partition_trees import partition_trees

__all__ = [
    "AttentionSample",
    "affinities",
    "attention_samples",
    "partition_trees",
]
