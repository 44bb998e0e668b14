"""Attention of one batch as a query x key x head array that is read when it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from haarbor.array_types import AnyArray, FloatArray
from haarbor.errors import SettingError
from haarbor.options import found_text

__all__ = ["HeadTensor"]


class HeadTensor(NDArrayOperatorsMixin):
    """Query x key x head array, float32, heads layer by layer; read from the store on demand.

    ``np.asarray(tensor)`` reads all of it, ``tensor[:, :, heads]`` only the layers those heads are
    in. Everything else an array does (arithmetic, ``sum``, ``astype``, ...) reads all of it, each
    time: keep ``np.asarray(tensor)`` where it is used more than once.

    Parameters
    ----------
    layer_values : callable
        From a layer's number to its float32 array of shape (n_heads, n_queries, n_keys).
    n_layers : int
    layer_shape : tuple of int
    """

    def __init__(
        self, layer_values: Callable[[int], FloatArray], n_layers: int, layer_shape: tuple[int, int, int]
    ) -> None:
        self._layer_values = layer_values
        self._n_layers = n_layers
        self._heads_per_layer, self._n_queries, self._n_keys = layer_shape

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n_queries, n_keys, n_heads), heads of all layers."""
        return (self._n_queries, self._n_keys, self._n_layers * self._heads_per_layer)

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """float32, whatever the store keeps."""
        return np.dtype(np.float32)

    @property
    def ndim(self) -> int:
        """Three."""
        return 3

    @property
    def size(self) -> int:
        """Number of entries."""
        return self._n_queries * self._n_keys * self.shape[2]

    @property
    def nbytes(self) -> int:
        """Bytes once it is read."""
        return self.size * self.dtype.itemsize

    def head_blocks(self) -> Iterator[FloatArray]:
        """Arrays of shape (heads_per_layer, n_queries, n_keys), one layer after the other, each read once."""
        for layer in range(self._n_layers):
            yield self._layer_values(layer)

    @property
    def heads_per_block(self) -> int:
        """Heads in each of `head_blocks`, which are read together."""
        return self._heads_per_layer

    def layer(self, layer: int) -> FloatArray:
        """Heads of one layer, shape (n_queries, n_keys, heads_per_layer).

        Raises
        ------
        SettingError
            If there is no such layer.
        """
        if not _is_number(layer) or not 0 <= layer < self._n_layers:
            raise SettingError(
                f"layer must lie in 0..{self._n_layers - 1}; found {found_text(layer)}. "
                "Layers are counted from 0."
            )
        return np.ascontiguousarray(self._layer_values(layer).transpose(1, 2, 0))

    def head(self, head: int) -> FloatArray:
        """One head, shape (n_queries, n_keys); heads are counted over all layers.

        Raises
        ------
        SettingError
            If there is no such head.
        """
        if not _is_number(head) or not 0 <= head < self.shape[2]:
            raise SettingError(
                f"head must lie in 0..{self.shape[2] - 1}; found {found_text(head)}."
                " Heads are counted through all layers, from 0."
            )
        layer, inside = divmod(head, self._heads_per_layer)
        return np.array(self._layer_values(layer)[inside])

    def _heads(self, heads: range) -> FloatArray:
        """Array of some heads, shape (n_queries, n_keys, len(heads)); every layer is read once."""
        array = np.empty((self._n_queries, self._n_keys, len(heads)), dtype=np.float32)
        layers = np.asarray(heads, dtype=np.int64) // self._heads_per_layer
        for layer in np.unique(layers):
            places = np.flatnonzero(layers == layer)
            inside = np.asarray(heads, dtype=np.int64)[places] - int(layer) * self._heads_per_layer
            array[:, :, places] = self._layer_values(int(layer))[inside].transpose(1, 2, 0)
        return array

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        if copy is False:
            raise ValueError(
                "a stored tensor is always copied when it becomes an array; do not pass copy=False."
            )
        array: AnyArray = self._heads(range(self.shape[2]))
        return array if dtype is None else array.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [np.asarray(value) if isinstance(value, HeadTensor) else value for value in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __len__(self) -> int:
        return self._n_queries

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple) and len(index) == 2 and index[0] is Ellipsis:
            index = (slice(None), slice(None), index[1]) if _is_place(index[1]) else index
        if isinstance(index, tuple) and len(index) == 3 and all(map(_is_place, index)):
            query, key, head = index
            if isinstance(head, slice):
                return self._heads(range(self.shape[2])[head])[query, key]
            return self._heads(range(self.shape[2])[head : head + 1 or None])[query, key, 0]
        return np.asarray(self)[index]

    def __getattr__(self, name: str) -> Any:
        # What an array can do beyond this class: sum, astype, transpose, ...
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(np.asarray(self), name)

    def __repr__(self) -> str:
        sizes = " x ".join(
            f"{n} {axis}" for n, axis in zip(self.shape, ("query", "key", "head"), strict=True)
        )
        return f"HeadTensor({sizes}, {self._n_layers} layers, read on demand)"


def _is_number(item: object) -> bool:
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _is_place(item: object) -> bool:
    return isinstance(item, slice) or _is_number(item)
