"""An array file that a user gave: which array of it is meant, and what its axes are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from haarbor.array_types import AnyArray
from haarbor.errors import SettingError, ShapeError
from haarbor.options import found_text
from haarbor.store import arrays_in_file, cache_contents

__all__ = ["ArrayFile", "is_array_file"]

_ENDINGS = (".npy", ".npz", ".safetensors")
_CONTENTS = ("probabilities", "logits")
_ATTENTION = ("query", "key", "head")
_OF_A_RUN = (*_ATTENTION, "layer", "batch")
_AXIS = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_MOST_NAMES = 12


def is_array_file(place: str) -> bool:
    """Whether a place is that of an array file, not of a run, which is a folder or a URL."""
    if "://" in place:
        return False
    path = Path(place)
    return path.is_file() or (path.suffix.lower() in _ENDINGS and not path.is_dir())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArrayFile:
    """One array of a file, or attention that a file holds in several arrays."""

    path: Path
    source: Any
    """The array, or a mapping of names to arrays, as :func:`haarbor.import_arrays` takes it."""
    shape: tuple[int, ...]
    dtype: str
    axes: tuple[str, ...]
    """Empty where the file is a cache, whose axes are known."""
    guessed: bool
    """Whether the axes were found by their lengths."""
    what: str
    """What was read, in words."""

    @classmethod
    def read(cls, path: str, array: str | None, axes: str | None) -> ArrayFile:
        """Find out what a file holds.

        Parameters
        ----------
        path : str
        array : str or None
            Name of the array that is meant, where the file has several.
        axes : str or None
            Names of its axes with commas between them; found by their lengths if None.

        Raises
        ------
        StoreError
            If the file cannot be read.
        SettingError, ShapeError
            If it is not clear which array is meant, or names and axes do not fit.
        """
        arrays = arrays_in_file(path)
        names = None if axes is None else _axis_names(axes)
        file = Path(path)
        if array is None and names is None:
            cache = cache_contents(arrays)
            if cache:
                first = next(iter(cache.values()))
                shape = (first.n_batches, first.n_layers, *first.layer_shape)
                return cls(
                    path=file, source=dict(arrays.items()), shape=shape, dtype="", axes=(), guessed=False,
                    what=f"the cache of a network, {' and '.join(cache)}, "
                    f"{_sizes(('batch', 'layer', 'head', 'query', 'key'), shape)}",
                )  # fmt: skip
        chosen = _chosen(file, arrays, array)
        taken = {name: _numbers(file, name, arrays[name]) for name in chosen}
        one = next(iter(taken.values()))
        found = _guessed_axes(one.shape) if names is None else names
        if len(found) != one.ndim:
            raise ShapeError(
                f"--axes must name each axis of the array once; found {len(found)} names for the "
                f"{one.ndim} axes of {_shape(one.shape)}. Name them in the array's order."
            )
        called = "" if list(chosen) in ([""], []) else f" {' and '.join(chosen)},"
        return cls(
            path=file,
            source=one if len(taken) == 1 else taken,
            shape=one.shape,
            dtype=str(one.dtype),
            axes=found,
            guessed=names is None,
            what=f"{called.strip()}{' ' if called else ''}{one.dtype}, {_sizes(found, one.shape)}",
        )

    @property
    def is_attention(self) -> bool:
        """Whether a run can be made of it: it has queries and keys, and nothing that a run does not have."""
        named = set(self.axes)
        return not self.axes or ({"query", "key"} <= named and named <= set(_OF_A_RUN))

    def content(self) -> Literal["probabilities", "logits"]:
        """What it holds: probabilities are never negative."""
        parts = self.source if self.source.ndim > 1 else self.source[None]
        # A mapped array is read part by part.
        negative = any(bool((np.asarray(part) < 0).any()) for part in parts)
        return "logits" if negative else "probabilities"

    def with_heads(self) -> tuple[AnyArray, tuple[str, ...]]:
        """The array and its axes, with an axis of one head if it has none."""
        if "head" in self.axes:
            return self.source, self.axes
        return self.source[None], ("head", *self.axes)


def _chosen(file: Path, arrays: Mapping[str, AnyArray], array: str | None) -> list[str]:
    names = list(arrays)
    if not names:
        raise SettingError(f"{file} must hold an array; it holds none. Choose another file.")
    if array is not None:
        if names == [""]:
            raise SettingError(
                f"--array must go with a file of several arrays; {file.name} holds one. Leave it out."
            )
        if array not in names:
            raise SettingError(
                f"--array must name an array of {file.name}, {_listed(names)}; found {found_text(array)}. "
                "Choose one of these."
            )
        return [array]
    if len(names) == 1:
        return names
    known = [name for name in _CONTENTS if name in names]
    if known:
        return known
    raise SettingError(
        f"it must be clear which array of {file.name} is meant; it holds {_listed(names)}. "
        f"Choose one, as in --array {found_text(names[0])}."
    )


def _listed(names: Sequence[str]) -> str:
    shown = [name or "one without a name" for name in names[:_MOST_NAMES]]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"{', '.join(shown)}{more}"


def _numbers(file: Path, name: str, array: AnyArray) -> AnyArray:
    called = f"{name} in {file.name}" if name else file.name
    if array.ndim < 2 or 0 in array.shape:
        raise ShapeError(
            f"an array must have two axes or more, none of them empty; {called} has shape "
            f"{array.shape}. Save a matrix or a tensor."
        )
    if array.dtype.kind not in "biuf":
        raise ShapeError(
            f"an array must hold real numbers; {called} holds {array.dtype}. Save its real part or its size."
        )
    return array


def _axis_names(axes: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in axes.split(","))
    if len(set(names)) < len(names) or not all(_AXIS.fullmatch(name) for name in names):
        raise SettingError(
            "--axes must be different names of letters, digits, '_' and '-', with commas between them; found "
            f"{found_text(axes)}. Write them as in head,query,key."
        )
    return names


def _guessed_axes(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Names of axes by their lengths: queries and keys are usually as many, and usually come last."""
    if len(shape) == 2:
        return ("row", "column")
    if len(shape) == 3 and shape[0] == shape[1]:
        return _ATTENTION
    if len(shape) in (3, 4, 5) and shape[-1] == shape[-2]:
        return ("batch", "layer", "head", "query", "key")[-len(shape) :]
    return tuple(f"axis{number}" for number in range(len(shape)))


def _sizes(axes: Sequence[str], shape: Sequence[int]) -> str:
    return " x ".join(f"{size} ({axis})" for axis, size in zip(axes, shape, strict=True))


def _shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))
