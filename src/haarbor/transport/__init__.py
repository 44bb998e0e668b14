"""Tree EMD: distances between slices along trees on the other axes."""

from haarbor.transport.folder_means import FolderMeans
from haarbor.transport.tree_emd import tree_emd

__all__ = ["FolderMeans", "tree_emd"]
