"""Values for masked entries: masked probabilities are 0, masked logits get the mean of their row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from haarbor.array_types import BoolArray, FloatArray, real_array
from haarbor.binary_scale import excess_exponent, scaled
from haarbor.errors import DataError
from haarbor.named_axes import checked_mask, checked_tensor, position_text
from haarbor.options import require_choice

__all__ = ["FLOORS", "Content", "neutral_tensor"]

Content = Literal["auto", "logits", "probabilities"]

# The lowest numbers of float16, bfloat16, float32 and float64.
FLOORS = {-65504.0, -(2.0**128 - 2.0**120), *(float(np.finfo(t).min) for t in (np.float32, np.float64))}


def neutral_tensor(
    X: npt.ArrayLike,
    axes: Sequence[str],
    mask: npt.ArrayLike | None = None,
    content: Content = "auto",
) -> tuple[FloatArray, Literal["logits", "probabilities", "unmasked"]]:
    """Tensor in which masked entries have a neutral value.

    A masked entry is one whose key the query may not see. Its probability is 0. Its logit has no meaning,
    whatever number the network wrote there, so it is replaced by the mean of the valid logits of its row.

    Parameters
    ----------
    X : array_like of float, one axis per name in `axes`
    axes : sequence of str
    mask : array_like of bool, shape (n_queries, n_keys) or X.shape, optional
        True where (query, key) is valid.
    content : {"auto", "logits", "probabilities"}, default "auto"
        What the tensor holds; used only with a mask. Probabilities must be 0 where the mask is False,
        and are left as they are. Masked logits get the mean of the valid entries of their row, or of
        their head if the row has none. "auto" takes rows that are non-negative and sum to 1 for
        probabilities, and anything else for logits.

    Returns
    -------
    tensor : ndarray of float32 or float64
    kind : {"logits", "probabilities", "unmasked"}
        What the tensor was taken to hold; "unmasked" without a mask.

    Raises
    ------
    DataError
        If a valid entry is not finite, a valid entry is the lowest number of a floating-point type, or
        a masked probability is not zero.

    See Also
    --------
    haarbor.organize : Trees of one tensor.

    Examples
    --------
    >>> import numpy as np
    >>> logits = np.array([[1.0, -np.inf], [2.0, 4.0]])
    >>> neutral_tensor(logits, ("query", "key"), mask=[[True, False], [True, True]])
    (array([[1., 1.],
           [2., 4.]]), 'logits')
    """
    require_choice("content", content, ("auto", "logits", "probabilities"))
    if mask is None:
        whole = checked_tensor(X, axes)
        _require_no_floor(whole, axes)
        return whole, "unmasked"
    array = real_array(X)
    if array.ndim != len(axes):
        # Raises the error that every tensor with other axes gets.
        checked_tensor(array, axes)
    valid = checked_mask(mask, axes, array.shape)
    tensor = checked_tensor(array, axes, valid=valid)
    everywhere: BoolArray = np.broadcast_to(valid, tensor.shape)
    _require_no_floor(np.where(everywhere, tensor, 0), axes)
    if content == "auto":
        content = "probabilities" if _are_probabilities(tensor, everywhere, axes) else "logits"
    if content == "probabilities":
        stray = ~everywhere & (tensor != 0)
        if stray.any():
            place = np.unravel_index(int(np.argmax(stray)), stray.shape)
            raise DataError(
                "masked probabilities must be 0; found "
                f"{tensor[place]:.3g} at ({position_text(place, axes)}), {int(stray.sum())} such entries in "
                "all. Check that the mask is True where entries are valid, or pass content='logits'."
            )
        return tensor, "probabilities"
    return _with_row_means(tensor, everywhere, axes), "logits"


def _require_no_floor(tensor: FloatArray, axes: Sequence[str]) -> None:
    """Raise if an entry is the lowest number of a floating-point type.

    Networks write it over the scores of masked keys, and the trees would show the mask, not the attention.
    """
    place = np.unravel_index(int(np.argmin(tensor)), tensor.shape)
    if float(tensor[place]) in FLOORS:
        raise DataError(
            f"every entry must be a value of its own; found {tensor[place]:.6g} at "
            f"({position_text(place, axes)}), the lowest number of its type, which networks write where a "
            "key is masked. Pass mask=(valid query, key entries)."
        )


def _are_probabilities(tensor: FloatArray, valid: BoolArray, axes: Sequence[str]) -> bool:
    if "key" not in axes or bool((np.where(valid, tensor, 0) < 0).any()):
        return False
    key = list(axes).index("key")
    with np.errstate(over="ignore"):
        sums: FloatArray = np.sum(np.where(valid, tensor, 0), axis=key, dtype=np.float64)
    seen = valid.any(axis=key)
    return bool(np.all(np.abs(sums[seen] - 1) < 1e-2)) and not bool((~valid & (tensor != 0)).any())


def _with_row_means(tensor: FloatArray, valid: BoolArray, axes: Sequence[str]) -> FloatArray:
    key = list(axes).index("key") if "key" in axes else len(axes) - 1
    rows = tuple(place for place, axis in enumerate(axes) if axis in ("query", "key")) or (key,)
    exponent = excess_exponent(np.where(valid, tensor, 0))
    ordinary = scaled(tensor, exponent)

    def mean_over(places: int | tuple[int, ...]) -> tuple[FloatArray, BoolArray]:
        count = np.sum(valid, axis=places, keepdims=True)
        total = np.sum(ordinary, axis=places, where=valid, keepdims=True, dtype=np.float64)
        return scaled(total / np.maximum(count, 1), -exponent), count > 0

    row_mean, row_seen = mean_over(key)
    head_mean, head_seen = mean_over(rows)
    if not head_seen.all():
        raise DataError(
            "every head needs at least one valid entry; a head is masked altogether. Leave it out."
        )
    neutral = np.where(row_seen, row_mean, head_mean)
    filled: FloatArray = np.where(valid, tensor, neutral).astype(tensor.dtype)
    return filled
