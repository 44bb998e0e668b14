"""Which types of results have a stored form, under which name and version."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from haarbor.errors import SettingError, StoreError
from haarbor.paraproducts import RunInvariance
from haarbor.questionnaire import Consensus, Convergence, HeadTrees, Organization, QuestionnaireSettings
from haarbor.spectral import DiffusionMap, MarkovSpectrum
from haarbor.store._layout import name_fits
from haarbor.wavelets import HeadEntropy, NetworkEntropy, RankingStability, RunRegularity

__all__ = ["ResultType", "register_result_type", "result_type_named", "result_type_of"]

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultType:
    """Stored form of a dataclass: its fields under a name and a version."""

    name: str
    cls: type
    version: int
    upgrades: Mapping[int, Callable[[Fields], Fields]]
    """From a version to the function that makes its fields those of the next one."""

    def fields_of(self, value: Any) -> Fields:
        """Fields of a result, by name."""
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}

    def result(self, version: int, fields: Fields) -> Any:
        """Result with `fields`, as `version` wrote them.

        Raises
        ------
        StoreError
            If the version is newer than this Haarbor, older than it still reads, or the fields do not fit.
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


def register_result_type(
    cls: type,
    *,
    name: str | None = None,
    version: int = 1,
    upgrades: Mapping[int, Callable[[Fields], Fields]] | None = None,
) -> None:
    """Give a dataclass a stored form.

    Its fields may be whatever a run can hold: numbers, texts, arrays, trees, other registered
    types, and mappings, lists and tuples of these.

    Parameters
    ----------
    cls : type
        A dataclass that can be made from its fields.
    name : str, optional
        The name it is stored under, which must never change; the class' own if not given.
    version : int, default 1
        To be raised when the fields change.
    upgrades : mapping of int to callable, optional
        From an older version to the function that turns its fields into the next version's.

    Raises
    ------
    SettingError
        If it is no dataclass, or the name is taken by another one.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Score:
    ...     value: float
    >>> register_result_type(Score, name="docs-example-score")
    """
    stored_name = cls.__name__ if name is None else name
    if not dataclasses.is_dataclass(cls) or not name_fits(stored_name):
        raise SettingError(
            f"a result type must be a dataclass with a plain name; found {cls!r}, {stored_name!r}."
            " Register a dataclass under letters, digits, '_', '-' or '.'."
        )
    taken = _BY_NAME.get(stored_name)
    if taken is not None and taken.cls is not cls and taken.cls.__qualname__ != cls.__qualname__:
        raise SettingError(
            f"a result type's name must be its own; {stored_name!r} stands for {taken.cls!r}."
            " Choose another name."
        )
    entry = ResultType(name=stored_name, cls=cls, version=version, upgrades=dict(upgrades or {}))
    _BY_NAME[stored_name] = entry
    _BY_CLASS[cls] = entry


def result_type_of(value: object) -> ResultType | None:
    """Registered type of a result; None if it has none."""
    return _BY_CLASS.get(type(value))


def result_type_named(name: str) -> ResultType:
    """Registered type of a name.

    Raises
    ------
    StoreError
        If there is none.
    """
    if name not in _BY_NAME:
        raise StoreError(
            f"a stored result must be of a type this Haarbor knows; found {name!r}. "
            "Install a newer one, or import the module that registers it."
        )
    return _BY_NAME[name]


for _cls in (
    Consensus,
    Convergence,
    DiffusionMap,
    HeadEntropy,
    HeadTrees,
    MarkovSpectrum,
    NetworkEntropy,
    Organization,
    QuestionnaireSettings,
    RankingStability,
    RunInvariance,
    RunRegularity,
):
    register_result_type(_cls)
