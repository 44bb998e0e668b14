"""Answers of Haarbor compared, and looked through for numbers that are none."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from haarbor import PartitionTree

__all__ = ["as_parts", "difference", "kept_bytes", "not_finite"]


def as_parts(answer: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Arrays, trees, numbers and texts of an answer, each with the names that lead to it."""
    if dataclasses.is_dataclass(answer) and not isinstance(answer, type):
        for entry in dataclasses.fields(answer):
            yield from as_parts(getattr(answer, entry.name), f"{name}.{entry.name}")
    elif isinstance(answer, Mapping):
        for key, value in answer.items():
            yield from as_parts(value, f"{name}.{key}")
    elif isinstance(answer, (list, tuple)):
        for place, value in enumerate(answer):
            yield from as_parts(value, f"{name}.{place}")
    else:
        yield name.lstrip("."), answer


def difference(
    answer: Any, expected: Any, *, tol: float = 0.0, rounding: Mapping[str, float] | None = None
) -> str | None:
    """First part in which two answers differ, in words; None if they are the same.

    Parameters
    ----------
    answer, expected : object
    tol : float, default 0
        Largest difference allowed, relative to the largest entry of an array; 0 asks for the same
        bits.
    rounding : mapping of str to float, optional
        By ends of names, what a part may differ by besides: a share that is zero may be computed as the
        rounding of one.
    """
    found, wanted = list(as_parts(answer)), list(as_parts(expected))
    if [name for name, _ in found] != [name for name, _ in wanted]:
        return f"{len(found)} parts in place of {len(wanted)}"
    for (name, one), (_, other) in zip(found, wanted, strict=True):
        floor = max((size for end, size in (rounding or {}).items() if name.endswith(end)), default=0.0)
        if not _alike(one, other, tol, floor):
            return f"{name or 'the answer'} is {_short(one)} in place of {_short(other)}"
    return None


def not_finite(answer: Any, allowed: tuple[str, ...] = ()) -> str | None:
    """First part of an answer that is NaN or infinite, in words; `allowed` are ends of names that may be."""
    for name, part in as_parts(answer):
        if name.endswith(allowed) if allowed else False:
            continue
        numbers = isinstance(part, (float, complex, np.floating, np.ndarray))
        if numbers and np.asarray(part).dtype.kind in "fc" and not np.isfinite(part).all():
            return f"{name or 'the answer'} is {_short(part)}"
    return None


def kept_bytes(value: Any, depth: int = 0) -> Any:
    """What must not change in an argument while a function has it."""
    if depth > 5:
        return None
    if isinstance(value, np.ndarray):
        return None if value.dtype.hasobject else (value.shape, str(value.dtype), value.tobytes())
    if isinstance(value, PartitionTree):
        return value.levels.tobytes()
    if isinstance(value, Mapping):
        return {str(key): kept_bytes(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [kept_bytes(entry, depth + 1) for entry in value] if len(value) < 200 else None
    if type(value).__module__.startswith("torch") and hasattr(value, "state_dict"):
        return kept_bytes(value.state_dict(), depth + 1)
    if type(value).__module__.startswith("torch"):
        plain = value.layout.__repr__() == "torch.strided" and value.device.type == "cpu"
        return value.detach().reshape(-1).tolist() if plain else None
    return value if isinstance(value, (int, float, str, bytes)) and value == value else None


def _alike(one: Any, other: Any, tol: float, floor: float) -> bool:
    if isinstance(one, (np.ndarray, np.generic)) or isinstance(other, (np.ndarray, np.generic)):
        first, second = np.asarray(one), np.asarray(other)
        if first.shape != second.shape or first.dtype.kind != second.dtype.kind:
            return False
        if tol == 0 or first.dtype.kind not in "fc":
            return first.dtype == second.dtype and np.array_equal(
                first, second, equal_nan=first.dtype.kind in "fc"
            )
        return _close(first, second, tol, floor)
    if isinstance(one, float) and isinstance(other, float):
        same = one == other or (one != one and other != other)
        return same or (tol > 0 and _close(one, other, tol, floor))
    if callable(one) and callable(other):
        return True
    return bool(type(one) is type(other) and one == other)


def _close(one: Any, other: Any, tol: float, floor: float) -> bool:
    first, second = np.asarray(one, dtype=np.longdouble), np.asarray(other, dtype=np.longdouble)
    if not np.array_equal(np.isnan(first), np.isnan(second)):
        return False
    scale = np.max(np.abs(second), initial=0.0, where=~np.isnan(second))
    # Next to zero numbers lie so far apart that no relative error can be held.
    single = np.asarray(one).dtype == np.float32
    floor += 1000 * float(np.finfo(np.float32 if single else np.float64).smallest_subnormal)
    return bool(np.all((np.abs(first - second) <= tol * scale + floor) | np.isnan(first)))


def _short(part: Any) -> str:
    text = " ".join(str(part).split())
    return text if len(text) <= 70 else text[:67] + "..."
