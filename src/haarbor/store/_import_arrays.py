"""Attention that another program computed, into a run."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, BoolArray, ByteArray
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.options import found_text
from haarbor.printable import printable
from haarbor.store._array_files import arrays_in_file
from haarbor.store._attention_sources import (
    ArraySource,
    AttentionSource,
    JoinedSource,
    attention_array,
    cache_contents,
)
from haarbor.store._create_run import create_run
from haarbor.store._pictures import checked_picture
from haarbor.store._plain_array import plain_array
from haarbor.store._run import Run
from haarbor.store._run_plan import LabelKind, RunPlan, StoredContent, StreamPlan
from haarbor.store._stored_numbers import StoredDtype
from haarbor.version import installed_versions

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["import_arrays"]

_CONTENTS: tuple[StoredContent, ...] = ("probabilities", "logits")


def import_arrays(
    source: Any,
    location: str | os.PathLike[str] | Store,
    *,
    axes: Sequence[str] = ("query", "key", "head"),
    heads_per_layer: int | None = None,
    content: Literal["probabilities", "logits"] | None = None,
    names: Mapping[str, str] | None = None,
    mask: npt.ArrayLike | Literal["causal"] | None = None,
    labels: Sequence[str] | None = None,
    pictures: Sequence[npt.ArrayLike] | None = None,
    model: str = "arrays",
    stream: str = "self",
    dtype: StoredDtype = "float32",
    settings: Mapping[str, Any] | None = None,
) -> Run:
    """Make a run from arrays instead of a model.

    Parameters
    ----------
    source : path, array, mapping, or sequence of paths
        A ``.npy``, ``.npz`` or ``.safetensors`` file; an array or tensor; a mapping of names to
        arrays, such as a TransformerLens cache with ``blocks.{i}.attn.hook_pattern`` and
        ``blocks.{i}.attn.hook_attn_scores``; or several files, one after the other batch by batch.
    location : str, path or zarr.abc.store.Store
        Where the run goes.
    axes : sequence of str, default ("query", "key", "head")
        Names of the axes of each array: query, key and head, and perhaps layer and batch, in its
        order. Not looked at for a cache.
    heads_per_layer : int, optional
        Where the head axis holds the heads of all layers, layer by layer; one layer if not given.
    content : {"probabilities", "logits"}, optional
        What a single array holds (probabilities if not given), or the only content to import.
    names : mapping of content to str, optional
        Which array of a file is which content, where they are not called "probabilities" and "logits".
    mask : array_like of bool, shape (n_queries, n_keys) or (n_batches, n_queries, n_keys), or "causal"
        True where an entry is valid; all are if not given.
    labels : sequence of str, length n_queries, optional
        Texts of the queries, and of the keys if there are as many; "row,column" of patches.
    pictures : sequence of array_like of uint8, shape (height, width, 3), optional
        What a vision network saw, one per batch, at most 224 pixels on a side. The labels then are of
        patches.
    model : str, default "arrays"
        Name of the model.
    stream : str, default "self"
    dtype : {"float16", "float32"}, default "float32"
    settings : mapping, optional
        JSON values to keep with the run.

    Returns
    -------
    Run

    Raises
    ------
    StoreError
        If a file cannot be read, holds pickled objects, or the run cannot be written.
    ShapeError, DataError, SettingError
        If the arrays do not fit together or hold values that cannot be stored.

    See Also
    --------
    haarbor.capture : Record the attention of a model.
    haarbor.open_run : Open a run for reading.
    haarbor.store.arrays_in_file : Arrays by name.

    Examples
    --------
    >>> import numpy as np
    >>> causal = np.tri(4) / np.arange(1, 5)[:, None]
    >>> run = import_arrays(causal[:, :, None], "memory://import-arrays-example", mask="causal")
    >>> run
    Run(arrays: 1 layers x 1 heads, 4 x 4, 1 of 1 batches, probabilities as float32)
    """
    sources = _sources(source, axes, heads_per_layer, content, names)
    sizes = _common_sizes(sources)
    n_heads, n_queries, n_keys = sizes.layer_shape
    masks = _masks(mask, sizes.n_batches, n_queries, n_keys)
    seen = None if pictures is None else _pictures(pictures, sizes.n_batches)
    patches_or_tokens: LabelKind = "tokens" if seen is None else "patches"
    plan = RunPlan(
        model=model,
        streams=(
            StreamPlan(
                name=stream, n_layers=sizes.n_layers, n_heads=n_heads, n_queries=n_queries, n_keys=n_keys
            ),
        ),
        n_batches=sizes.n_batches,
        contents=tuple(name for name in _CONTENTS if name in sources),
        dtype=dtype,
        labels="none" if labels is None else patches_or_tokens,
        config_digest=_digest(sources, masks, seen or []),
        settings={"mode": "import", **_mapping("settings", settings)},
        library_versions=installed_versions(("numpy", "zarr", "numcodecs")),
    )
    with create_run(location, plan) as writer:
        for index in writer.missing_batches:
            with writer.batch(index) as batch:
                batch.write_mask(stream, masks[index])
                if labels is not None:
                    batch.write_labels(stream, labels)
                if seen is not None:
                    batch.write_picture(seen[index])
                for layer in range(sizes.n_layers):
                    values = {name: _floating(found.layer(index, layer)) for name, found in sources.items()}
                    if "probabilities" in values:
                        _require_probabilities(values["probabilities"], index, layer)
                    batch.write_layer(stream, layer, values)
        return writer.run


def _sources(
    source: Any,
    axes: Sequence[str],
    heads_per_layer: int | None,
    content: str | None,
    names: Mapping[str, str] | None,
) -> dict[str, AttentionSource]:
    if content is not None and not (isinstance(content, str) and content in _CONTENTS):
        raise SettingError(
            f"content must be 'probabilities' or 'logits'; found {found_text(content)}. Pass one of these."
        )
    if isinstance(source, (str, os.PathLike)):
        return _contents_of(arrays_in_file(source), axes, heads_per_layer, content, names)
    if (
        isinstance(source, (list, tuple))
        and source
        and all(isinstance(p, (str, os.PathLike)) for p in source)
    ):
        each = [_contents_of(arrays_in_file(path), axes, heads_per_layer, content, names) for path in source]
        for path, found in zip(source, each, strict=True):
            if found.keys() != each[0].keys():
                raise ShapeError(
                    f"all files must hold the same contents; {printable(source[0])} has "
                    f"{', '.join(each[0])}, {printable(path)} has {', '.join(found)}. "
                    "Import them into different runs."
                )
        return {name: JoinedSource([found[name] for found in each]) for name in each[0]}
    if hasattr(source, "items"):
        return _contents_of(dict(source.items()), axes, heads_per_layer, content, names)
    return _contents_of({"": source}, axes, heads_per_layer, content, names)


def _contents_of(
    arrays: Mapping[str, Any],
    axes: Sequence[str],
    heads_per_layer: int | None,
    content: str | None,
    names: Mapping[str, str] | None,
) -> dict[str, AttentionSource]:
    found: dict[str, AttentionSource] = dict(cache_contents(arrays)) if names is None else {}
    if not found:
        for name, array_name in _array_names(arrays, content, names).items():
            array = attention_array(arrays[array_name], name)
            found[name] = ArraySource(array, axes, heads_per_layer)
    if content is not None:
        if content not in found:
            raise SettingError(
                f"content must be one of those there, {', '.join(found)}; found {content!r}. "
                "Leave it out to import all."
            )
        return {content: found[content]}
    return found


def _array_names(
    arrays: Mapping[str, Any], content: str | None, names: Mapping[str, str] | None
) -> Mapping[str, str]:
    if names is not None:
        chosen = _mapping("names", names)
        wrong = {
            name: array
            for name, array in chosen.items()
            if name not in _CONTENTS or array not in list(arrays)
        }
        if wrong or not chosen:
            raise SettingError(
                "names must go from 'probabilities' or 'logits' to an array that is there, "
                f"{_names_text(arrays)}; found {found_text(wrong) if wrong else 'nothing'}. "
                "Name such an array."
            )
        return chosen
    named: dict[str, str] = {name: name for name in _CONTENTS if name in arrays}
    if named:
        return named
    if len(arrays) == 1:
        return {content or "probabilities": next(iter(arrays))}
    raise SettingError(
        f"it must be clear which array is which; found {_names_text(arrays)}. "
        "Pass names={'probabilities': ..., 'logits': ...}."
    )


def _names_text(arrays: Mapping[str, Any]) -> str:
    return found_text(list(arrays)) if arrays else "none"


def _mapping(name: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    if values is not None and not isinstance(values, Mapping):
        raise SettingError(f"{name} must be a mapping; found {type(values).__name__}. Pass a dictionary.")
    return dict(values or {})


def _pictures(pictures: Sequence[npt.ArrayLike], n_batches: int) -> list[ByteArray]:
    if not isinstance(pictures, (Sequence, np.ndarray)) or isinstance(pictures, str):
        raise ShapeError(f"pictures must be one per batch; found {type(pictures).__name__}. Pass a list.")
    if len(pictures) != n_batches:
        raise ShapeError(
            f"pictures must be one per batch; found {len(pictures)} for {n_batches} batches. Pass one each."
        )
    return [checked_picture(picture) for picture in pictures]


def _common_sizes(sources: Mapping[str, AttentionSource]) -> AttentionSource:
    first, *others = sources.values()
    for other in others:
        sizes, more = ((found.n_batches, found.n_layers, *found.layer_shape) for found in (first, other))
        if sizes != more:
            raise ShapeError(
                "probabilities and logits must have the same batches, layers, heads, queries and keys; "
                f"found {sizes} and {more}. Import them into different runs."
            )
    return first


def _masks(mask: Any, n_batches: int, n_queries: int, n_keys: int) -> BoolArray:
    shape = (n_batches, n_queries, n_keys)
    if mask is None:
        return np.broadcast_to(np.True_, shape)
    if isinstance(mask, str):
        if mask != "causal":
            raise SettingError(
                f"mask must be 'causal' or an array; found {found_text(mask)}. Pass one of these."
            )
        # The last query sees every key, as where earlier keys were cached.
        return np.broadcast_to(np.tri(n_queries, n_keys, n_keys - n_queries, dtype=bool), shape)
    array = plain_array(mask, "mask")
    if array.dtype != np.bool_ or array.shape not in (shape, shape[1:]):
        raise ShapeError(
            f"mask must be boolean of shape {shape[1:]} (query, key) or {shape}; found {array.dtype} of "
            f"shape {array.shape}. An additive mask becomes one by mask == 0."
        )
    return np.broadcast_to(array, shape)


def _floating(array: AnyArray) -> AnyArray:
    return array.astype(np.float64) if array.dtype.kind in "biu" else array


def _require_probabilities(values: AnyArray, batch: int, layer: int) -> None:
    if bool((values < 0).any()):
        raise DataError(
            f"probabilities must not be negative; batch {batch}, layer {layer} holds "
            f"{float(values.min()):g}. If these are scores, pass content='logits'."
        )


def _digest(sources: Mapping[str, AttentionSource], masks: BoolArray, pictures: Sequence[ByteArray]) -> str:
    """SHA-256 of everything imported, so that a run is continued only with the same arrays."""
    found = hashlib.sha256()
    for name, source in sorted(sources.items()):
        found.update(f"{name} {source.n_batches} {source.n_layers} {source.layer_shape}".encode())
        for batch in range(source.n_batches):
            for layer in range(source.n_layers):
                values = source.layer(batch, layer)
                found.update(values.dtype.str.encode())
                found.update(np.ascontiguousarray(values).data)
    found.update(np.packbits(masks).data)
    for picture in pictures:
        found.update(str(picture.shape).encode())
        found.update(picture.data)
    return f"sha256:{found.hexdigest()}"
