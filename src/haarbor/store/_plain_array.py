"""Arrays and tensors of users as numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.errors import ShapeError

__all__ = ["plain_array"]


def plain_array(value: Any, name: str = "an array") -> AnyArray:
    """Array or torch tensor as a numpy array; bfloat16 becomes float32.

    Parameters
    ----------
    value : array_like or tensor
    name : str, default "an array"
        What it is, for messages.

    Raises
    ------
    ShapeError
        If it cannot be made into an array of one shape, or hides some of its entries.

    Examples
    --------
    >>> plain_array([[True, False]]).dtype
    dtype('bool')
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ShapeError(
            f"{name} must hold its numbers openly; found a masked array, whose mask would be lost. "
            "Pass its data, and the mask by itself."
        )
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
            value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise ShapeError(
            f"{name} must be an array of numbers of one shape; found {type(value).__name__}: {reason}. "
            "Convert it with numpy.asarray first."
        ) from None
