"""Arrays of users, taken apart into batches and layers of attention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.errors import SettingError, ShapeError
from haarbor.options import found_text
from haarbor.store._plain_array import plain_array

__all__ = [
    "ArraySource",
    "AttentionSource",
    "CacheSource",
    "JoinedSource",
    "attention_array",
    "cache_contents",
]

_AXES = ("batch", "layer", "head", "query", "key")
_HOOKS = {"hook_attn_scores": "logits", "hook_pattern": "probabilities"}
_CACHE_NAME = re.compile(r"blocks\.([0-9]{1,6})\.attn\.(hook_attn_scores|hook_pattern)")


class AttentionSource(Protocol):
    """Attention by batch and layer."""

    n_batches: int
    n_layers: int
    layer_shape: tuple[int, int, int]

    def layer(self, batch: int, layer: int) -> AnyArray:
        """One layer of one batch, shape (n_heads, n_queries, n_keys)."""


class ArraySource:
    """One array whose axes have names.

    Parameters
    ----------
    array : ndarray
    axes : sequence of str
        Each of "query", "key" and "head", and perhaps "layer" and "batch", in the array's order.
    heads_per_layer : int, optional
        Where heads of all layers share the "head" axis, layer by layer.

    Examples
    --------
    >>> source = ArraySource(np.zeros((5, 5, 6)), ("query", "key", "head"), heads_per_layer=2)
    >>> source.n_batches, source.n_layers, source.layer_shape
    (1, 3, (2, 5, 5))
    """

    def __init__(self, array: AnyArray, axes: Sequence[str], heads_per_layer: int | None = None) -> None:
        names = tuple(axes) if isinstance(axes, Iterable) else (axes,)
        unknown = [name for name in names if name not in _AXES]
        lacking = [name for name in ("query", "key", "head") if name not in names]
        if unknown or lacking or len(set(names)) != len(names):
            raise SettingError(
                "axes must name query, key and head, and may name layer and batch, each once; "
                f"found {found_text(names)}. Name them in the array's order."
            )
        if array.ndim != len(names):
            raise ShapeError(
                f"axes must name every axis of the array; found {len(names)} names {names} "
                f"for shape {array.shape}. Name them in the array's order."
            )
        if 0 in array.shape:
            raise ShapeError(
                f"every axis must hold at least one item; found shape {array.shape}. Pass a full array."
            )
        if heads_per_layer is not None and "layer" in names:
            raise SettingError(
                "heads_per_layer is for arrays without a layer axis; axes names one. Leave one out."
            )
        present = [name for name in _AXES if name in names]
        ordered = array.transpose([names.index(name) for name in present])
        if "layer" not in names:
            place = present.index("head")
            n_heads = ordered.shape[place]
            per_layer = n_heads if heads_per_layer is None else heads_per_layer
            is_number = isinstance(per_layer, (int, np.integer)) and not isinstance(per_layer, bool)
            if not is_number or per_layer < 1 or n_heads % per_layer:
                raise ShapeError(
                    f"heads_per_layer must divide the number of heads; found {found_text(per_layer)} for "
                    f"{n_heads} heads. Leave it out for one layer."
                )
            shape = ordered.shape
            ordered = ordered.reshape(*shape[:place], n_heads // per_layer, per_layer, *shape[place + 1 :])
        self._array = ordered if "batch" in names else ordered[None]
        self.n_batches, self.n_layers, *sizes = self._array.shape
        self.layer_shape = (sizes[0], sizes[1], sizes[2])

    def layer(self, batch: int, layer: int) -> AnyArray:
        """One layer of one batch, shape (n_heads, n_queries, n_keys)."""
        values: AnyArray = self._array[batch, layer]
        return values


class CacheSource:
    """One array per layer, as in a TransformerLens cache.

    Parameters
    ----------
    layers : sequence of ndarray, shape (n_batches, n_heads, n_queries, n_keys)
        Or without the first axis, for one batch.
    """

    def __init__(self, layers: Sequence[AnyArray]) -> None:
        shapes = sorted({layer.shape for layer in layers})
        if len(shapes) != 1 or len(shapes[0]) not in (3, 4) or 0 in shapes[0]:
            raise ShapeError(
                "layers of a cache must be alike, of shape (batch, head, query, key) or (head, query, key); "
                f"found {found_text(shapes)}. Import other layers by themselves."
            )
        self._layers = [layer[None] if layer.ndim == 3 else layer for layer in layers]
        self.n_layers = len(self._layers)
        self.n_batches, *sizes = self._layers[0].shape
        self.layer_shape = (sizes[0], sizes[1], sizes[2])

    def layer(self, batch: int, layer: int) -> AnyArray:
        """One layer of one batch, shape (n_heads, n_queries, n_keys)."""
        values: AnyArray = self._layers[layer][batch]
        return values


class JoinedSource:
    """Several sources one after the other, as when each batch has a file."""

    def __init__(self, sources: Sequence[AttentionSource]) -> None:
        first = sources[0]
        for number, source in enumerate(sources):
            if (source.n_layers, source.layer_shape) != (first.n_layers, first.layer_shape):
                raise ShapeError(
                    "all batches of a run must have the same layers, heads, queries and keys; the first has "
                    f"{first.n_layers} x {first.layer_shape}, number {number} has {source.n_layers} x "
                    f"{source.layer_shape}. Import them into different runs."
                )
        self._places = [(source, batch) for source in sources for batch in range(source.n_batches)]
        self.n_batches = len(self._places)
        self.n_layers = first.n_layers
        self.layer_shape = first.layer_shape

    def layer(self, batch: int, layer: int) -> AnyArray:
        """One layer of one batch, shape (n_heads, n_queries, n_keys)."""
        source, inside = self._places[batch]
        return source.layer(inside, layer)


def cache_contents(arrays: Mapping[str, Any]) -> dict[str, CacheSource]:
    """Contents of a TransformerLens-style cache; empty if the arrays are no such cache.

    Parameters
    ----------
    arrays : mapping of str to array or tensor
        ``blocks.{i}.attn.hook_attn_scores`` (logits) and ``blocks.{i}.attn.hook_pattern``
        (probabilities); other names are not looked at.

    Returns
    -------
    dict of {"logits", "probabilities"} to CacheSource

    Raises
    ------
    ShapeError
        If a layer is missing.

    See Also
    --------
    haarbor.import_arrays : A run from arrays.
    haarbor.store.arrays_in_file : Arrays by name.
    """
    found: dict[str, dict[int, Any]] = {}
    for name in arrays:
        match = _CACHE_NAME.fullmatch(name) if isinstance(name, str) else None
        if match is not None:
            found.setdefault(_HOOKS[match[2]], {})[int(match[1])] = arrays[name]
    sources = {}
    for content, layers in sorted(found.items(), key=lambda item: item[0] != "probabilities"):
        missing = [layer for layer in range(max(layers) + 1) if layer not in layers]
        if missing:
            raise ShapeError(
                f"a cache must hold all layers; {content} of layers "
                f"{found_text(missing)} are missing. Cache them, or rename the blocks "
                "from 0 on."
            )
        sources[content] = CacheSource(
            [attention_array(layers[layer], f"{content} of layer {layer}") for layer in sorted(layers)]
        )
    return sources


def attention_array(value: Any, name: str) -> AnyArray:
    """Array of real numbers out of what holds attention.

    Raises
    ------
    ShapeError
        If it is no array, or of something else.
    """
    array = plain_array(value, name)
    if array.dtype.kind not in "biuf":
        raise ShapeError(
            f"{name} must hold real numbers; found {found_text(str(array.dtype))} of shape {array.shape}. "
            "Pass an array of floating-point numbers."
        )
    return array
