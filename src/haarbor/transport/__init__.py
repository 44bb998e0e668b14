"""Tree EMD: earth mover's distances between slices of a tensor along trees on its other axes."""

from haarbor.transport._device_means import DeviceFolderMeans, device_bytes
from haarbor.transport._exponents import exponent_by_axis
from haarbor.transport._folder_features import OuterPart
from haarbor.transport._folder_means import FolderMeans, require_sums_fit
from haarbor.transport._mapped_tensor import MappedTensor, mapped_tensor
from haarbor.transport._scratch_tensor import ScratchTensor
from haarbor.transport._streamed_means import StreamedFolderMeans
from haarbor.transport._tree_emd import tree_emd

__all__ = [
    "DeviceFolderMeans",
    "FolderMeans",
    "MappedTensor",
    "OuterPart",
    "ScratchTensor",
    "StreamedFolderMeans",
    "device_bytes",
    "exponent_by_axis",
    "mapped_tensor",
    "require_sums_fit",
    "tree_emd",
]
