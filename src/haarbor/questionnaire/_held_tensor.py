"""A tensor in memory, as a questionnaire asks it for affinities and folder means."""

from __future__ import annotations

from collections.abc import Sequence

from haarbor.array_types import FloatArray
from haarbor.binary_scale import excess_exponent, scaled
from haarbor.spectral import cosine_affinity, gaussian_affinity
from haarbor.transport import FolderMeans

__all__ = ["HeldTensor", "axis_roles"]


class HeldTensor:
    """A tensor in memory.

    Parameters
    ----------
    tensor : ndarray of float32 or float64
        Its masked entries are neutral.
    axes : sequence of str
    initial : {"cosine", "gaussian"}
    threads : int or None
    """

    def __init__(self, tensor: FloatArray, axes: Sequence[str], initial: str, threads: int | None) -> None:
        self.shape = tensor.shape
        self.exponent = excess_exponent(tensor)
        self._tensor = tensor
        self._axes = tuple(axes)
        self._initial = initial
        self._threads = threads

    def initial_affinity(self, axis: str) -> FloatArray:
        """First affinity between the slices of an axis."""
        affinity = cosine_affinity if self._initial == "cosine" else gaussian_affinity
        return affinity(self._tensor, axis, axes=self._axes, threads=self._threads)

    def means(self) -> FolderMeans:
        """Folder means of the tensor over two to the power of `exponent`, the last axis last."""
        first, last = axis_roles(self._axes)
        order = [self._axes.index(axis) for axis in (*first, last)]
        return FolderMeans(scaled(self._tensor, self.exponent).transpose(order), (*first, last))


def axis_roles(names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Axes with an initial tree, and the one without."""
    last = "head" if "head" in names else names[-1]
    return tuple(axis for axis in names if axis != last), last
