"""Tensors with named axes: checks of names, values and masks, which say where something is wrong."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, BoolArray, FloatArray, plain_array, real_array
from haarbor.errors import DataError, ShapeError
from haarbor.memory import require_memory
from haarbor.options import found_text, is_row
from haarbor.printable import printable

__all__ = ["axis_names", "boolean_array", "checked_mask", "checked_tensor", "n_axes_of", "position_text"]

_USUAL_AXES = {2: ("query", "key"), 3: ("query", "key", "head")}


def n_axes_of(X: npt.ArrayLike) -> int:
    """Number of axes of an array, found without reading an array that lies in a run.

    Raises
    ------
    ShapeError
        If it is not a rectangular array.
    """
    # An array that is read from a run on demand knows its axes before it is read.
    n_axes = getattr(X, "ndim", None)
    return n_axes if isinstance(n_axes, int) else plain_array(X).ndim


def axis_names(axes: Sequence[str] | None, n_axes: int) -> tuple[str, ...]:
    """Names of the axes of a tensor, the usual ones where none are given.

    Parameters
    ----------
    axes : sequence of str or None
        One distinct name per axis. ``None`` stands for ("query", "key") or
        ("query", "key", "head").
    n_axes : int
        Number of axes the tensor has.

    Returns
    -------
    tuple of str

    Raises
    ------
    ShapeError
        If the names are not texts, are not as many as the axes, or repeat.

    Examples
    --------
    >>> axis_names(None, 3)
    ('query', 'key', 'head')
    """
    if axes is None:
        if n_axes not in _USUAL_AXES:
            raise ShapeError(
                f"a tensor without axes=(...) must have 2 or 3 axes; found {n_axes}. "
                + (f"Pass axes=(...) with {n_axes} names." if n_axes else "Pass an array of numbers.")
            )
        return _USUAL_AXES[n_axes]
    if isinstance(axes, str):
        raise ShapeError(
            f"axes must be a sequence of names; found the single text {axes!r}. "
            "Pass a tuple of names, one for each axis."
        )
    if not is_row(axes):
        raise ShapeError(
            f"axes must be a sequence of names, one per axis in their order; found {found_text(axes)}. "
            "Pass a tuple of texts."
        )
    names = tuple(axes)
    strange = [name for name in names if not isinstance(name, str)]
    if strange:
        raise ShapeError(
            f"axis names must be texts; found {found_text(strange[0])}. Pass one such as 'query' for each "
            "axis; np.transpose moves axes."
        )
    if len(names) != n_axes:
        raise ShapeError(
            f"axes must name every axis of the tensor; found {len(names)} names {found_text(names)} "
            f"for {n_axes} axes. Pass one name per axis."
        )
    if len(set(names)) != len(names):
        raise ShapeError(f"axis names must differ; found {names}. Rename the repeated one.")
    return tuple(map(str, names))


def position_text(index: Sequence[Any], axes: Sequence[str]) -> str:
    """Position of an entry in words.

    Examples
    --------
    >>> position_text((3, 0), ("query", "key"))
    'query 3, key 0'
    """
    return ", ".join(f"{printable(name)} {int(place)}" for name, place in zip(axes, index, strict=True))


def checked_tensor(
    X: npt.ArrayLike,
    axes: Sequence[str],
    *,
    valid: BoolArray | None = None,
    nan_is_missing: bool = False,
) -> FloatArray:
    """Return `X` as a floating-point array after checking that every value can be used.

    float64 stays float64, float16 and float32 become float32, integers and booleans become
    float64. Nothing is copied unless the dtype changes.

    Parameters
    ----------
    X : array_like, one axis per name in `axes`
    axes : sequence of str
    valid : ndarray of bool, broadcastable to X.shape, optional
        Entries that must be finite; all of them if not given.
    nan_is_missing : bool, default False
        Whether NaN stands for a missing entry and is accepted.

    Returns
    -------
    ndarray of float32 or float64, same shape as `X`

    Raises
    ------
    ShapeError
        If `X` is not a numeric array with one non-empty axis per name.
    DataError
        If an entry that must be finite is not; the message names the first one.
    """
    array = real_array(X)
    if array.ndim != len(axes):
        raise ShapeError(
            f"the tensor must have the axes {tuple(axes)}; found shape {array.shape}. "
            "Name its axes with axes=(...)."
        )
    if 0 in array.shape:
        raise ShapeError(
            f"every axis must hold at least one item; found shape {array.shape}. "
            f"Axis {axes[array.shape.index(0)]!r} is empty."
        )
    single = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    dtype: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
    if array.dtype != dtype or not _lies_in_a_file(array):
        # An array in memory fits, unless it repeats one part by strides of zero: the copy will be whole.
        copies = 4 if 0 in array.strides else 1
        require_memory(
            copies * array.size * dtype.itemsize,
            f"a tensor of shape {array.shape} in {dtype}",
            "Pass a part of it.",
        )
    # What float64 cannot hold becomes infinite here, and is refused below with its own value.
    with np.errstate(over="ignore"):
        tensor: FloatArray = array.astype(dtype, copy=False)
    _require_finite(tensor, array, axes, valid, nan_is_missing)
    return tensor


def _lies_in_a_file(array: AnyArray | None) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = array.base if isinstance(array.base, np.ndarray) else None
    return array is not None


def _require_finite(
    tensor: FloatArray,
    given: AnyArray,
    axes: Sequence[str],
    valid: BoolArray | None,
    nan_is_missing: bool,
) -> None:
    # A finite sum has finite terms only, and needs no boolean copy of the tensor; the slow search
    # runs only when the sum is not finite.
    if valid is None:
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.add.reduce(tensor, axis=None)):
                return
    bad = np.isinf(tensor) if nan_is_missing else ~np.isfinite(tensor)
    if valid is not None:
        bad &= np.broadcast_to(valid, tensor.shape)
    if not bad.any():
        return
    place = np.unravel_index(int(np.argmax(bad)), bad.shape)
    value = given[place]
    if np.isfinite(value):
        advice = "That is beyond float64: divide the array by a constant first."
    elif np.isneginf(value):
        advice = "Entries that are masked in the network have no value: pass mask=(valid query, key entries)."
    else:
        advice = "Drop or replace such entries before organising."
    raise DataError(
        f"every entry must be finite; found {value!s} at ({position_text(place, axes)}), "
        f"{int(bad.sum())} such entries in all. {advice}"
    )


def boolean_array(mask: npt.ArrayLike) -> BoolArray:
    """`mask` as an array of bool; anything but booleans is refused.

    Zeros and ones are refused too, because they are ambiguous: in a mask that is added to the scores
    zeros mark the valid entries.

    Raises
    ------
    ShapeError
        If it is not boolean.
    """
    array = plain_array(mask, "mask")
    if array.dtype != np.bool_:
        raise ShapeError(
            f"mask must be boolean, True where an entry is valid; found dtype {array.dtype}. "
            "An additive mask becomes one by mask == 0, ones and zeros by mask == 1."
        )
    return array


def checked_mask(mask: npt.ArrayLike, axes: Sequence[str], shape: Sequence[int]) -> BoolArray:
    """Boolean mask of valid entries, broadcastable to a tensor with `axes` and `shape`.

    Parameters
    ----------
    mask : array_like of bool, shape (n_queries, n_keys) or the shape of the tensor
        True where an entry is valid.
    axes : sequence of str
        Axis names of the tensor; must hold "query" and "key" for a two-axis mask.
    shape : sequence of int
        Shape of the tensor.

    Returns
    -------
    ndarray of bool
        Shaped so that numpy broadcasting applies it to the tensor.

    Raises
    ------
    ShapeError
        If it is not boolean, or has neither of these shapes.
    DataError
        If it leaves no valid entry.
    """
    array = boolean_array(mask)
    sizes: Mapping[str, Any] = dict(zip(axes, shape, strict=True))
    if not array.any():
        raise DataError(
            "mask must leave at least one valid entry; every entry is masked. If your mask is True where an "
            "entry is hidden, pass ~mask."
        )
    if array.shape == tuple(shape):
        return array
    if "query" not in sizes or "key" not in sizes:
        raise ShapeError(
            f"a (query, key) mask needs axes named 'query' and 'key'; found {tuple(axes)}. "
            "Name them, or pass a mask of the tensor's own shape."
        )
    expected = (sizes["query"], sizes["key"])
    if array.shape != expected:
        raise ShapeError(
            f"mask must have shape {expected} (query, key) or {tuple(shape)}; found {array.shape}. "
            "Pass one entry for each (query, key), or for each entry of the tensor."
        )
    oriented = array if list(axes).index("query") < list(axes).index("key") else array.T
    return oriented.reshape([sizes[a] if a in ("query", "key") else 1 for a in axes])
