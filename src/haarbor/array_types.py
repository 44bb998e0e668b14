"""Arrays that modules pass to each other: names of their types, conversion to them, read-only results."""

import re
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from haarbor.errors import HaarborError, ShapeError

__all__ = [
    "AnyArray",
    "BoolArray",
    "ByteArray",
    "FloatArray",
    "IntArray",
    "frozen",
    "plain_array",
    "real_array",
]

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]
ByteArray = npt.NDArray[np.uint8]
AnyArray = npt.NDArray[Any]

_Array = TypeVar("_Array", bound=AnyArray)

# numpy has no more axes than this, so nothing deeper needs to be looked into.
_DEEPEST = 64
# Number types of torch that numpy has too; a tensor of another one must be converted first.
_SHARED_NUMBERS = re.compile(r"torch\.(float(16|32|64)|complex(64|128)|u?int(8|16|32|64)|bool)")


def frozen(array: _Array) -> _Array:
    """Return `array` with writing switched off; the caller gives up the right to change it."""
    array.setflags(write=False)
    return array


def plain_array(given: object, name: str = "the tensor") -> AnyArray:
    """`given` as a numpy array of whatever it holds, or an error that says why it cannot become one.

    A masked array is refused unless nothing in it is masked, because a plain array would show what
    its mask hides. A torch tensor is taken if numpy can read it as it is.

    Parameters
    ----------
    given : array_like
    name : str
        What messages call it.

    Raises
    ------
    ShapeError
        If it is not a rectangular array, or part of it would be lost.

    Examples
    --------
    >>> plain_array([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    if type(given) is np.ndarray:
        return given
    if isinstance(given, np.ma.MaskedArray):
        return _array_without_mask(given, name)
    if _is_torch_tensor(given):
        return _array_of_torch(given, name)
    if type(given).__module__.startswith("scipy.sparse"):
        raise ShapeError(
            f"{name} must be a dense array; found a sparse one, {type(given).__name__}. Pass X.toarray()."
        )
    if isinstance(given, list | tuple):
        given = _of_plain_parts(given, name, _DEEPEST)
    try:
        return np.asarray(given)
    except HaarborError:
        # An array that is read from a run on demand has said what is wrong.
        raise
    except (Exception, RecursionError) as error:
        reason = " ".join(str(error).split())[:200].rstrip(".")
        raise ShapeError(
            f"{name} must be a rectangular array; found {_kind_of(given)} that numpy cannot make one of "
            f"({type(error).__name__}: {reason}). Convert it to a numpy array first."
        ) from None


def real_array(given: object, name: str = "the tensor") -> AnyArray:
    """`given` as a numpy array of real numbers: floating, integer or boolean (True counts as 1).

    Parameters
    ----------
    given : array_like
    name : str
        What messages call it.

    Raises
    ------
    ShapeError
        If it is not a rectangular array, or holds complex numbers, text, dates or other objects.

    Examples
    --------
    >>> real_array([True, False]).dtype
    dtype('bool')
    """
    array = plain_array(given, name)
    if array.dtype.kind in "fiub":
        return array
    if array.dtype.kind == "c":
        advice = "Pass its real part, X.real, or its size, abs(X)."
    elif array.ndim == 0:
        raise ShapeError(
            f"{name} must hold real numbers; found {_kind_of(given)}. Pass a numpy array or nested lists."
        )
    else:
        advice = "Convert it to float32 or float64."
    raise ShapeError(f"{name} must hold real numbers; found dtype {array.dtype}. {advice}")


def _array_without_mask(given: Any, name: str) -> AnyArray:
    hidden = int(np.ma.getmaskarray(given).sum())
    if hidden:
        raise ShapeError(
            f"{name} must be a plain array; found a masked one that hides {hidden} of {given.size} entries. "
            "Pass X.filled(0), and mask=~X.mask (True where valid) to functions that take a mask."
        )
    return np.asarray(given.data)


def _is_torch_tensor(given: object) -> bool:
    # Recognised by name, because importing torch for this would be slow.
    return any(
        kind.__name__ == "Tensor" and kind.__module__.partition(".")[0] == "torch"
        for kind in type(given).__mro__
    )


def _array_of_torch(tensor: Any, name: str) -> AnyArray:
    try:
        return np.asarray(tensor)
    except Exception:
        pass
    dtype, device, layout = str(tensor.dtype), str(tensor.device), str(tensor.layout)
    traits = [dtype.removeprefix("torch."), f"on {device}"]
    if device == "meta":
        raise ShapeError(
            f"{name} must hold values; found a torch tensor on the meta device, which has a shape and no "
            "values. Load the weights of the model, and pass what it computes."
        )
    call = "X"
    if layout != "torch.strided":
        traits.append("sparse" if "sparse" in layout else layout.removeprefix("torch."))
        call += ".to_dense()"
    if tensor.requires_grad:
        traits.append("with a gradient")
    call += ".detach()"
    if not _SHARED_NUMBERS.fullmatch(dtype):
        call += ".float()"
    raise ShapeError(
        f"{name} must be an array that numpy can read; found a torch tensor ({', '.join(traits)}). "
        f"Pass {call}.cpu().numpy()."
    )


def _of_plain_parts(given: Any, name: str, depth: int) -> Any:
    """Nested lists in which every masked array or torch tensor has become a plain array."""
    if depth == 0:
        raise ShapeError(
            f"{name} must be a rectangular array; found lists nested more than {_DEEPEST} deep. "
            "Pass an array with one axis per level."
        )
    # A list of numbers is left as it is: the copy would cost as much as the array.
    if all(isinstance(part, float | int) for part in given):
        return given
    return [
        _of_plain_parts(part, name, depth - 1)
        if isinstance(part, list | tuple)
        else plain_array(part, name)
        if isinstance(part, np.ma.MaskedArray) or _is_torch_tensor(part)
        else part
        for part in given
    ]


def _kind_of(given: object) -> str:
    kind = type(given).__name__
    return "None" if given is None else f"an object of type {kind}"
