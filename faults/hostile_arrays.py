"""Everything that may be passed where an array of numbers is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from faults.spoilt import Spoilt, one_of

__all__ = ["exponent_of", "spoilt_array"]

Rng = np.random.Generator
Array = np.ndarray[Any, np.dtype[Any]]


def spoilt_array(rng: Rng, good: Array, *, gaps: bool = False) -> Spoilt:
    """Something else in place of a good array.

    Parameters
    ----------
    rng : Generator
    good : ndarray of float
    gaps : bool, default False
        Whether NaN may stand for a missing entry, so that it need not be refused.
    """
    family = one_of(rng, (_WRONG, _WRONG, _SAME, _EXTREME, _EXTREME, _FLAT))
    name = one_of(rng, family)
    found = family[name](rng, good)._replace(name=name)
    return found._replace(demand="either") if gaps and name in ("not a number", "infinity") else found


def exponent_of(values: Array) -> int:
    """Exponent of two of the largest entry."""
    largest = float(np.max(np.abs(values.astype(np.longdouble)), initial=0.0))
    return 0 if largest == 0 else int(np.frexp(np.longdouble(largest))[1])


def _with_one(rng: Rng, good: Array, value: Any, dtype: Any = None) -> Array:
    changed = good.astype(dtype or good.dtype)
    changed[tuple(int(rng.integers(size)) for size in good.shape)] = value
    return changed


def _torch(good: Array, **changes: Any) -> Any:
    import torch

    tensor = torch.from_numpy(np.ascontiguousarray(good))
    dtype = changes.pop("dtype", None)
    tensor = tensor if dtype is None else tensor.to(getattr(torch, dtype))
    return tensor.requires_grad_(True) if changes.pop("grad", False) else tensor


def _refused(value: Callable[[Rng, Array], Any]) -> Callable[[Rng, Array], Spoilt]:
    return lambda rng, good: Spoilt("", value(rng, good), "refused")


def _meta(good: Array) -> Any:
    import torch

    return torch.empty(good.shape, device="meta")


_WRONG: dict[str, Callable[[Rng, Array], Spoilt]] = {
    "not a number": _refused(lambda rng, good: _with_one(rng, good, np.nan)),
    "infinity": _refused(lambda rng, good: _with_one(rng, good, one_of(rng, (np.inf, -np.inf)))),
    "complex numbers": _refused(lambda rng, good: good + 1j),
    "nothing": _refused(lambda rng, good: None),
    "a text": _refused(lambda rng, good: one_of(rng, ("X", "", "1.0", "\x1b[2J", "\ud800"))),
    "bytes": _refused(lambda rng, good: good.tobytes()),
    "texts": _refused(lambda rng, good: good.astype(str)),
    "dates": _refused(lambda rng, good: np.zeros(good.shape, "datetime64[s]")),
    "records": _refused(lambda rng, good: np.zeros(good.shape, [("a", "f8"), ("b", "i4")])),
    "a mapping": _refused(lambda rng, good: {"a": good}),
    "a set": _refused(lambda rng, good: {1.0, 2.0}),
    "a generator": _refused(lambda rng, good: (row for row in good)),
    "a function": _refused(lambda rng, good: np.sum),
    "a single number": _refused(lambda rng, good: 1.0),
    "ragged lists": _refused(lambda rng, good: [[1.0, 2.0], [3.0]]),
    "no entries": _refused(lambda rng, good: np.zeros((*good.shape[:-1], 0))),
    "an axis too many": _refused(lambda rng, good: good[..., None, None]),
    "an axis too few": _refused(lambda rng, good: good[0] if good.ndim == 1 else good[0, ..., 0]),
    "masked entries": _refused(
        lambda rng, good: np.ma.masked_array(good, mask=_with_one(rng, np.zeros(good.shape, bool), True))
    ),
    "endless whole numbers": _refused(lambda rng, good: _with_one(rng, good, 10**400, object).tolist()),
    "nothing among numbers": _refused(lambda rng, good: _with_one(rng, good, None, object).tolist()),
    "a sparse tensor": _refused(lambda rng, good: _torch(good).to_sparse()),
    "a tensor without storage": _refused(lambda rng, good: _meta(good)),
    "a complex tensor": _refused(lambda rng, good: _torch(good).to(dtype=_torch(good + 1j).dtype) * 1j),
}  # fmt: skip


def _same(value: Callable[[Rng, Array], Any], *, demand: Any = "same") -> Callable[[Rng, Array], Spoilt]:
    return lambda rng, good: Spoilt("", value(rng, good), demand)


def _strided(good: Array) -> Array:
    wide = np.full([2 * size for size in good.shape], 7.5, dtype=good.dtype)
    view = wide[tuple(slice(None, None, 2) for _ in good.shape)]
    view[...] = good
    return view


def _backwards(good: Array) -> Array:
    flip = tuple(slice(None, None, -1) for _ in good.shape)
    return np.ascontiguousarray(good[flip])[flip]


def _read_only(good: Array) -> Array:
    copy = good.copy()
    copy.setflags(write=False)
    return copy


def _unaligned(good: Array) -> Array:
    room = np.zeros(good.nbytes + 1, dtype=np.uint8)
    view = room[1:].view(good.dtype).reshape(good.shape)
    view[...] = good
    return view


def _whole_numbers(rng: Rng, good: Array) -> Spoilt:
    dtype = np.dtype(one_of(rng, ("i1", "u1", "i2", ">i4", "i8", "u8", "?")))
    limit = 2 if dtype.kind == "b" else 100
    numbers = rng.integers(0, limit, size=good.shape).astype(dtype)
    return Spoilt("", numbers, "alike", numbers.astype(np.float64))


def _half(rng: Rng, good: Array) -> Spoilt:
    half = good.astype(np.float16)
    return Spoilt("", half, "alike", half.astype(np.float32))


def _brain_half(rng: Rng, good: Array) -> Spoilt:
    tensor = _torch(good, dtype="bfloat16")
    return Spoilt("", tensor, "alike", tensor.float().numpy())


_SAME: dict[str, Callable[[Rng, Array], Spoilt]] = {
    "lists": lambda rng, good: Spoilt("", good.tolist(), "same", good.astype(np.float64)),
    "another order in memory": _same(lambda rng, good: np.asfortranarray(good)),
    "every other entry of a larger array": _same(lambda rng, good: _strided(good)),
    "steps backwards": _same(lambda rng, good: _backwards(good)),
    "read-only": _same(lambda rng, good: _read_only(good)),
    "not aligned": _same(lambda rng, good: _unaligned(good)),
    "the other byte order": _same(lambda rng, good: good.astype(good.dtype.newbyteorder())),
    "a view of memory": _same(lambda rng, good: memoryview(np.ascontiguousarray(good)), demand="alike"),
    "wider numbers": _same(lambda rng, good: good.astype(np.longdouble), demand="either"),
    "numbers as objects": _same(lambda rng, good: good.astype(object), demand="either"),
    "a tensor": _same(lambda rng, good: _torch(good)),
    "a tensor with a gradient": _same(lambda rng, good: _torch(good, grad=True), demand="alike"),
    "a tensor of bfloat16": _brain_half,
    "whole numbers": _whole_numbers,
    "half precision": _half,
}


def _scaled(rng: Rng, good: Array) -> Spoilt:
    limits = np.finfo(good.dtype)
    reach = one_of(rng, (limits.maxexp, limits.minexp, limits.maxexp // 2, limits.minexp // 2))
    exponent = int(reach * rng.uniform(0.8, 1.0)) - (2 if reach > 0 else 0)
    with np.errstate(under="ignore", over="ignore"):
        value = np.ldexp(good, exponent - exponent_of(good))
    if not np.isfinite(value).all():
        value = np.nan_to_num(value)
    return _rescaled(value)


def _mixed(rng: Rng, good: Array) -> Spoilt:
    limits = np.finfo(good.dtype)
    magnitudes = np.array(
        [0.0, limits.max, -limits.max, limits.tiny, limits.smallest_subnormal, 1.0, -1.0, limits.eps],
        dtype=good.dtype,
    )
    return _rescaled(np.where(rng.random(good.shape) < 0.5, good, rng.choice(magnitudes, size=good.shape)))


def _largest(rng: Rng, good: Array) -> Spoilt:
    signs = rng.choice(np.array([-1, 1], dtype=good.dtype), size=good.shape)
    return _rescaled(np.finfo(good.dtype).max * signs)


def _smallest(rng: Rng, good: Array) -> Spoilt:
    steps = rng.integers(-3, 4, size=good.shape).astype(good.dtype)
    return _rescaled(np.finfo(good.dtype).smallest_subnormal * steps)


def _far_from_zero(rng: Rng, good: Array) -> Spoilt:
    """Small differences on a large constant, where digits are lost in squares."""
    return Spoilt("", good + good.dtype.type(one_of(rng, (1e3, 1e6, 1e9, 1e15))), "either")


def _rescaled(value: Array) -> Spoilt:
    exponent = exponent_of(value)
    like = np.ldexp(value, -exponent)
    return Spoilt("", value, "either", like, exponent)


_EXTREME: dict[str, Callable[[Rng, Array], Spoilt]] = {
    "scaled far up or down": _scaled,
    "all magnitudes at once": _mixed,
    "the largest numbers": _largest,
    "the smallest numbers": _smallest,
    "small differences on a large constant": _far_from_zero,
}

_FLAT: dict[str, Callable[[Rng, Array], Spoilt]] = {
    "zeros": lambda rng, good: Spoilt("", np.zeros_like(good), "either"),
    "minus zeros": lambda rng, good: Spoilt("", -np.zeros_like(good), "either"),
    "all equal": lambda rng, good: Spoilt("", np.full_like(good, rng.normal()), "either"),
    "slices repeated": lambda rng, good: Spoilt("", np.repeat(good[:1], len(good), axis=0), "either"),
    "one entry not zero": lambda rng, good: Spoilt("", _with_one(rng, np.zeros_like(good), 1.0), "either"),
    "few values": lambda rng, good: Spoilt("", np.sign(good) * good.dtype.type(0.5), "either"),
}
