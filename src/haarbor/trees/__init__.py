"""Partition trees: the structure, its three builders, control trees, and distances between trees."""

from haarbor.trees._adjusted_mutual_information import adjusted_mutual_information
from haarbor.trees._axis_trees import require_tree, require_trees_fit, row_and_column_trees, trees_by_axis
from haarbor.trees._binary import binary_tree
from haarbor.trees._binary_folders import BinaryFolders
from haarbor.trees._build import build_tree
from haarbor.trees._collapsed_chains import CollapsedTree, collapsed_chains, drawn_tree
from haarbor.trees._control_trees import halved_tree, ordered_tree_like, random_tree_like
from haarbor.trees._device_linkage import device_row_distances
from haarbor.trees._flexible import flexible_tree
from haarbor.trees._haar_tree import (
    DEFAULT_RESTRAINT,
    depth_price,
    haar_tree,
    linked_folders,
    require_haar_tree_fits,
    require_restraint,
)
from haarbor.trees._partition_tree import PartitionTree
from haarbor.trees._pruned_tree import LARGEST_EXPONENT, LARGEST_LOG_WEIGHT, PrunedTree
from haarbor.trees._rotations import rotate
from haarbor.trees._row_blocks import row_distances
from haarbor.trees._tree_metric import partition_distance, shared_folders, tree_distances

__all__ = [
    "DEFAULT_RESTRAINT",
    "LARGEST_EXPONENT",
    "LARGEST_LOG_WEIGHT",
    "BinaryFolders",
    "CollapsedTree",
    "PartitionTree",
    "PrunedTree",
    "adjusted_mutual_information",
    "binary_tree",
    "build_tree",
    "collapsed_chains",
    "depth_price",
    "device_row_distances",
    "drawn_tree",
    "flexible_tree",
    "haar_tree",
    "halved_tree",
    "linked_folders",
    "ordered_tree_like",
    "partition_distance",
    "random_tree_like",
    "require_haar_tree_fits",
    "require_restraint",
    "require_tree",
    "require_trees_fit",
    "rotate",
    "row_and_column_trees",
    "row_distances",
    "shared_folders",
    "tree_distances",
    "trees_by_axis",
]
