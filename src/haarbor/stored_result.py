"""Results that can be stored: a class registers itself where it is defined."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from haarbor.errors import SettingError, StoreError

__all__ = ["ResultType", "registered_types", "result_type_of", "stored_result"]

Fields = dict[str, Any]
_Class = TypeVar("_Class", bound=type)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultType:
    """Stored form of a dataclass: its fields under a name and a version."""

    name: str
    cls: type
    version: int
    upgrades: Mapping[int, Callable[[Fields], Fields]]
    """From a version to the function that turns its fields into those of the next version."""

    def fields_of(self, value: Any) -> Fields:
        """Fields of a result, by name."""
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}

    def result(self, version: int, fields: Fields) -> Any:
        """Result with `fields`, as `version` wrote them.

        Raises
        ------
        StoreError
            If the version is newer than this Haarbor, or older than it can still read, or if the
            fields do not fit.
        """
        for step in range(version, self.version):
            if step not in self.upgrades:
                raise StoreError(
                    f"a stored {self.name} must be of version {self.version}; found version {version}. "
                    "Make it again."
                )
            fields = self.upgrades[step](fields)
        if version > self.version:
            raise StoreError(
                f"a stored {self.name} must be of version {self.version} or older; found version {version}. "
                "Install a newer Haarbor."
            )
        try:
            return self.cls(**fields)
        except TypeError as error:
            raise StoreError(f"a stored {self.name} must have its fields; {error}. Make it again.") from None


_BY_NAME: dict[str, ResultType] = {}
_BY_CLASS: dict[type, ResultType] = {}


def stored_result(
    name: str,
    *,
    version: int = 1,
    upgrades: Mapping[int, Callable[[Fields], Fields]] | None = None,
) -> Callable[[_Class], _Class]:
    """Decorator of a dataclass that may be kept in a run or in a results file.

    The fields may be whatever a run can hold: numbers, texts, arrays, trees, other classes that are
    decorated so, and mappings, lists and tuples of these. Write it above ``@dataclass``.

    Parameters
    ----------
    name : str
        Under which the class is stored. It must never change, even if the class is renamed.
    version : int, default 1
        To be raised when the fields change.
    upgrades : mapping of int to callable, optional
        From an older version to the function that turns its fields into the next version's.

    Returns
    -------
    callable
        It returns the class that it is given.

    Raises
    ------
    SettingError
        If the class is no dataclass, or if another class has the name.

    See Also
    --------
    haarbor.store.save_results_file : Write a result to a file.

    Examples
    --------
    >>> @stored_result("docs-example-score")
    ... @dataclass(frozen=True)
    ... class Score:
    ...     value: float
    """

    def registered(cls: _Class) -> _Class:
        is_plain = isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name)
        if not dataclasses.is_dataclass(cls) or not is_plain:
            raise SettingError(
                f"a stored result must be a dataclass with a plain name; found {cls!r}, {name!r}."
                " Decorate a dataclass, and name it in letters, digits, '_', '-' or '.'."
            )
        taken = _BY_NAME.get(name)
        # A module that is loaded again, as in a notebook, defines the same class anew.
        if taken is not None and taken.cls is not cls and taken.cls.__qualname__ != cls.__qualname__:
            raise SettingError(
                f"the name of a stored result must be its own; {name!r} stands for {taken.cls!r}."
                " Choose another name."
            )
        entry = ResultType(name=name, cls=cls, version=version, upgrades=dict(upgrades or {}))
        _BY_NAME[name] = entry
        _BY_CLASS[cls] = entry
        return cls

    return registered


def registered_types() -> Mapping[str, ResultType]:
    """Types of all modules that were imported so far, by their stored names."""
    return _BY_NAME


def result_type_of(value: object) -> ResultType | None:
    """Type of a result; None if its class has no stored form."""
    return _BY_CLASS.get(type(value))
