"""Partition trees: the structure, its two builders, and distances between trees."""

from haarbor.trees.binary import binary_tree
from haarbor.trees.build import build_tree
from haarbor.trees.flexible import flexible_tree
from haarbor.trees.partition_tree import PartitionTree
from haarbor.trees.pruned_tree import PrunedTree
from haarbor.trees.tree_metric import partition_distance, shared_folders, tree_distances

__all__ = [
    "PartitionTree",
    "PrunedTree",
    "binary_tree",
    "build_tree",
    "flexible_tree",
    "partition_distance",
    "shared_folders",
    "tree_distances",
]
