"""Results turned into JSON and arrays, and back; no pickle, so reading a result never runs code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from haarbor.array_types import AnyArray, frozen
from haarbor.errors import SettingError, StoreError
from haarbor.store._layout import NUMBER_TYPES, name_fits
from haarbor.store._result_types import result_type_named
from haarbor.stored_result import result_type_of
from haarbor.trees import PartitionTree

__all__ = ["restored_value", "stored_value"]


def stored_value(value: object) -> tuple[Any, dict[str, AnyArray]]:
    """JSON that describes a value, and the arrays it refers to.

    Parameters
    ----------
    value : object
        None, numbers, texts, arrays, trees, registered dataclasses; mappings with texts for keys,
        lists and tuples of these. Numpy scalars become Python's.

    Returns
    -------
    description : JSON value
    arrays : dict of str to ndarray
        Equal trees are kept once.

    Raises
    ------
    SettingError
        If something in it has no stored form.

    Examples
    --------
    >>> description, arrays = stored_value({"scores": np.array([1.0, 2.0]), "k": 3})
    >>> description
    {'mapping': [['scores', {'array': 'scores'}], ['k', 3]]}
    >>> arrays["scores"].tolist()
    [1.0, 2.0]
    """
    writer = _Writer()
    try:
        return writer.described(value, ()), writer.arrays
    except RecursionError:
        raise SettingError(
            "a result must not be nested too deeply; found more levels than Python can follow. "
            "Make it flatter, and see that nothing in it holds itself."
        ) from None


def restored_value(description: Any, array_named: Callable[[str], AnyArray]) -> Any:
    """Value that :func:`stored_value` described.

    Parameters
    ----------
    description : JSON value
    array_named : callable
        From a name to the array kept under it.

    Returns
    -------
    object
        Arrays in it are read-only.

    Raises
    ------
    StoreError
        If it describes something this Haarbor does not know.
    """
    return _Reader(array_named).value(description)


class _Writer:
    def __init__(self) -> None:
        self.arrays: dict[str, AnyArray] = {}
        self._trees: dict[PartitionTree, str] = {}

    def described(self, value: object, place: tuple[str, ...]) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, PartitionTree):
            if value not in self._trees:
                self._trees[value] = self._kept(value.levels.astype(np.int32), place)
            return {"tree": self._trees[value]}
        if isinstance(value, np.ndarray):
            if value.dtype.name not in NUMBER_TYPES or isinstance(value, np.ma.MaskedArray):
                kind = "masked" if isinstance(value, np.ma.MaskedArray) else f"of dtype {value.dtype}"
                raise SettingError(
                    f"an array to be stored must hold numbers; {_words(place)} is {kind}. "
                    "Convert it to a usual type, such as float64."
                )
            return {"array": self._kept(value, place)}
        if isinstance(value, Mapping):
            if not all(isinstance(name, str) for name in value):
                raise SettingError(
                    f"a mapping to be stored must have texts for keys; {_words(place)} has others."
                    " Use texts as keys."
                )
            return {"mapping": [[name, self.described(value[name], (*place, name))] for name in value]}
        if isinstance(value, (list, tuple)):
            items = [self.described(item, (*place, str(i))) for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        known = result_type_of(value)
        if known is None:
            raise SettingError(
                f"a result must be of a type that has a stored form; {_words(place)} is a "
                f"{type(value).__name__}. Decorate its class with haarbor.store.stored_result."
            )
        fields = {name: self.described(item, (*place, name)) for name, item in known.fields_of(value).items()}
        return {"type": known.name, "version": known.version, "fields": fields}

    def _kept(self, array: AnyArray, place: tuple[str, ...]) -> str:
        name, number = ".".join(place), len(self.arrays)
        # Some file systems do not tell capitals from small letters.
        taken = {other.lower() for other in self.arrays}
        while not name_fits(name) or name.lower() in taken:
            name, number = f"array-{number:04d}", number + 1
        self.arrays[name] = array
        return name


class _Reader:
    def __init__(self, array_named: Callable[[str], AnyArray]) -> None:
        self._array_named = array_named
        self._trees: dict[str, PartitionTree] = {}

    def value(self, description: Any) -> Any:
        if isinstance(description, list):
            return [self.value(item) for item in description]
        if not isinstance(description, dict):
            return description
        if "type" in description:
            fields = {name: self.value(item) for name, item in description["fields"].items()}
            return result_type_named(description["type"]).result(int(description["version"]), fields)
        if len(description) == 1:
            [(kind, content)] = description.items()
            if kind == "float":
                return float(content)
            if kind == "tuple":
                return tuple(self.value(item) for item in content)
            if kind == "mapping":
                return {name: self.value(item) for name, item in content}
            if kind == "array":
                return frozen(self._array_named(content))
            if kind == "tree":
                if content not in self._trees:
                    self._trees[content] = PartitionTree(self._array_named(content))
                return self._trees[content]
        raise StoreError(
            f"a stored result must be made of parts this Haarbor knows; found {sorted(description)}. "
            "Install a newer one."
        )


def _words(place: tuple[str, ...]) -> str:
    return ".".join(place) if place else "the value"
