"""Numbers as the store keeps them: in half or single precision, with a known rounding error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, BoolArray, FloatArray
from haarbor.errors import DataError, SettingError, ShapeError
from haarbor.named_axes import position_text
from haarbor.store._half_precision import to_half
from haarbor.store._plain_array import plain_array

__all__ = ["ErrorBound", "StoredDtype", "error_bound", "stored_layer", "used_places"]

StoredDtype = Literal["float16", "float32"]
# Half way from the largest number to what would be the next: from here on rounding gives infinity.
_FIRST_INFINITE = {"float16": 65520.0, "float32": 2.0**128 - 2.0**103}
_LAYER_AXES = ("head", "query", "key")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBound:
    r"""How far a stored value may lie from the one given: :math:`\max(r |x|, a)`."""

    relative: float
    """The :math:`r`, for values in the normal range of the dtype."""
    absolute: float
    """The :math:`a`, for values nearer to zero than that."""


def error_bound(dtype: StoredDtype) -> ErrorBound:
    r"""Rounding error of storing in `dtype`.

    float16 has a relative error of at most :math:`2^{-11} = 4.9 \cdot 10^{-4}` from
    :math:`2^{-14} = 6.1 \cdot 10^{-5}` up, and an absolute error of at most
    :math:`2^{-25} = 3.0 \cdot 10^{-8}` below. float32 values come back unchanged from float32.

    See Also
    --------
    haarbor.store.ErrorBound : The bound.

    Examples
    --------
    >>> bound = error_bound("float16")
    >>> bound.relative == 2**-11, bound.absolute == 2**-25
    (True, True)
    """
    if dtype not in ("float16", "float32"):
        raise SettingError(f"dtype must be 'float16' or 'float32'; found {dtype!r}. Pass one of them.")
    info = np.finfo(dtype)
    # Half the spacing of the numbers: rounding is to the nearest.
    return ErrorBound(relative=float(info.eps) / 2, absolute=float(info.smallest_subnormal) / 2)


def stored_layer(
    values: npt.ArrayLike,
    shape: tuple[int, int, int],
    dtype: StoredDtype,
    content: str,
    place: str = "a layer",
) -> FloatArray:
    """Attention of a layer as it will be stored, after checking that every value can be.

    Parameters
    ----------
    values : array_like of float, shape (n_heads, n_queries, n_keys)
    shape : tuple of int
        The shape that must hold.
    dtype : {"float16", "float32"}
    content : {"probabilities", "logits"}
        Logits may be -inf, which stands for a masked entry.
    place : str, default "a layer"
        Which layer it is, for messages.

    Returns
    -------
    ndarray of `dtype`, shape (n_heads, n_queries, n_keys)

    Raises
    ------
    ShapeError
        If the shape or the dtype is another one.
    DataError
        If a value is NaN, infinite, or too large for `dtype`.

    Examples
    --------
    >>> stored_layer([[[0.1, 0.9]]], (1, 1, 2), "float16", "probabilities").dtype
    dtype('float16')
    """
    array = plain_array(values, f"{content} of {place}")
    if array.dtype.kind != "f":
        raise ShapeError(
            f"{content} of {place} must be floating-point numbers; found dtype {array.dtype}. "
            "Convert them first."
        )
    if array.shape != shape:
        raise ShapeError(
            f"{content} of {place} must have shape {shape} (head, query, key); found {array.shape}. "
            "Write one batch and one layer at a time, with the sizes of the plan."
        )
    if array.dtype.itemsize <= np.dtype(dtype).itemsize:
        allowed = np.isfinite(array)
    else:
        allowed = np.abs(array) < _FIRST_INFINITE[dtype]
    if content == "logits":
        allowed |= array == -np.inf
    if not allowed.all():
        raise _unusable(array, ~allowed, dtype, content, place)
    return to_half(array) if dtype == "float16" else np.ascontiguousarray(array, dtype=np.float32)


def used_places(stored: FloatArray, content: str) -> BoolArray:
    """Entries that have to agree with the mask, of any head.

    Parameters
    ----------
    stored : ndarray, shape (n_heads, n_queries, n_keys)
    content : {"probabilities", "logits"}

    Returns
    -------
    ndarray of bool, shape (n_queries, n_keys)
        Where a probability is not zero, or a logit is -inf.

    Examples
    --------
    >>> used_places(np.array([[[0.0, 1.0]], [[0.0, 0.0]]]), "probabilities").tolist()
    [[False, True]]
    """
    if stored.dtype == np.float16:
        bits = stored.view(np.uint16)
        each = bits == 0xFC00 if content == "logits" else (bits & 0x7FFF) != 0
    else:
        each = stored == -np.inf if content == "logits" else stored != 0
    places: BoolArray = np.logical_or.reduce(each, axis=0)
    return places


def _unusable(
    array: AnyArray, bad: npt.NDArray[Any], dtype: StoredDtype, content: str, place: str
) -> DataError:
    first = np.unravel_index(int(np.argmax(bad)), bad.shape)
    value = float(array[first])
    where = f"({position_text(first, _LAYER_AXES)}), {int(bad.sum())} such entries in all"
    if np.isfinite(value):
        return DataError(
            f"{content} of {place} stored as {dtype} must lie within +-{float(np.finfo(dtype).max):g}; "
            f"found {value:g} at {where}. Store them with dtype='float32'."
        )
    kept = "finite, or -inf where masked" if content == "logits" else "finite"
    return DataError(
        f"{content} of {place} must be {kept}; found {value} at {where}. "
        "Set entries of padding to zero and mask them; look for an overflow otherwise."
    )
