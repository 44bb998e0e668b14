"""What a run will hold, decided before its first batch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from haarbor.errors import SettingError, ShapeError, StoreError
from haarbor.store.layout import RESERVED, name_fits
from haarbor.store.stored_numbers import StoredDtype

__all__ = ["LabelKind", "RunPlan", "StoredContent", "StreamPlan"]

StoredContent = Literal["probabilities", "logits"]
LabelKind = Literal["tokens", "patches", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """Sizes of one kind of attention of a model, such as its decoder's or its cross attention."""

    name: str
    n_layers: int
    n_heads: int
    """Heads in each layer."""
    n_queries: int
    n_keys: int
    head_groups: tuple[int, ...] | None = None
    """Key-value head that each head of a layer uses, shape (n_heads,); None where each has its own."""

    def __post_init__(self) -> None:
        if not name_fits(self.name) or self.name in RESERVED:
            raise SettingError(
                f"a stream's name must be letters, digits, '_', '-' or '.', and none of {RESERVED}; "
                f"found {self.name!r}."
            )
        for name in ("n_layers", "n_heads", "n_queries", "n_keys"):
            size = getattr(self, name)
            if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
                raise ShapeError(
                    f"{name} of stream {self.name!r} must be a whole number from 1; found {size!r}."
                )
            object.__setattr__(self, name, int(size))
        if self.head_groups is not None:
            groups = tuple(int(group) for group in self.head_groups)
            if len(groups) != self.n_heads or min(groups) < 0:
                raise ShapeError(
                    f"head_groups of stream {self.name!r} must hold a key-value head for each of "
                    f"{self.n_heads} heads; found {groups}."
                )
            object.__setattr__(self, "head_groups", groups)

    @property
    def layer_shape(self) -> tuple[int, int, int]:
        """Shape of one layer of one batch, (n_heads, n_queries, n_keys)."""
        return (self.n_heads, self.n_queries, self.n_keys)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, fit for JSON."""
        groups = None if self.head_groups is None else list(self.head_groups)
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {**values, "head_groups": groups}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> StreamPlan:
        """Stream from what :meth:`to_dict` gave."""
        groups = values["head_groups"]
        return cls(**{**values, "head_groups": None if groups is None else tuple(groups)})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What a run holds: of which model, in which sizes, made by which settings.

    Two runs of the same plan and the same inputs are the same bytes, so a plan has no clock, no
    absolute path and nothing random in it; settings that change between calls of the same command
    do not belong here.

    Examples
    --------
    >>> stream = StreamPlan(name="decoder", n_layers=2, n_heads=4, n_queries=8, n_keys=8)
    >>> plan = RunPlan(model="tiny", streams=(stream,), n_batches=3, dtype="float16")
    >>> plan.n_bytes_per_batch, plan.n_bytes
    (1088, 3264)
    """

    model: str
    streams: tuple[StreamPlan, ...]
    n_batches: int | None
    """Batches the run will have; None where that is known only at the end."""
    contents: tuple[StoredContent, ...] = ("probabilities",)
    dtype: StoredDtype = "float32"
    labels: LabelKind = "none"
    config_digest: str = ""
    """Digest of the model's configuration and weights, or of the arrays imported."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """JSON values: seed, mode, description of the data."""
    library_versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("streams", "contents"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        stream_names = [stream.name for stream in self.streams]
        if not stream_names or len(set(stream_names)) != len(stream_names):
            raise SettingError(f"a run needs streams of different names; found {stream_names}.")
        known = ("probabilities", "logits")
        unknown = [content for content in self.contents if content not in known]
        if not self.contents or unknown or len(set(self.contents)) != len(self.contents):
            raise SettingError(f"contents must be among {known}, each once; found {self.contents}.")
        if self.dtype not in ("float16", "float32"):
            raise SettingError(f"dtype must be 'float16' or 'float32'; found {self.dtype!r}.")
        if self.labels not in ("tokens", "patches", "none"):
            raise SettingError(f"labels must be 'tokens', 'patches' or 'none'; found {self.labels!r}.")
        if self.n_batches is not None and self.n_batches < 1:
            raise SettingError(f"n_batches must be at least 1, or None; found {self.n_batches}.")
        for name in ("settings", "library_versions"):
            object.__setattr__(self, name, _json_values(name, getattr(self, name)))

    @property
    def n_bytes_per_batch(self) -> int:
        """Bytes of one batch before compression."""
        n_bytes = 0
        for stream in self.streams:
            pairs = stream.n_queries * stream.n_keys
            values = stream.n_layers * stream.n_heads * pairs * len(self.contents)
            n_bytes += values * np.dtype(self.dtype).itemsize + pairs
        return n_bytes

    @property
    def n_bytes(self) -> int | None:
        """Bytes of the whole run before compression; None where the number of batches is unknown."""
        return None if self.n_batches is None else self.n_batches * self.n_bytes_per_batch

    def stream(self, name: str | None = None) -> StreamPlan:
        """Stream called `name`; the first one if no name is given."""
        if name is None:
            return self.streams[0]
        for stream in self.streams:
            if stream.name == name:
                return stream
        names = ", ".join(repr(stream.name) for stream in self.streams)
        raise SettingError(f"stream must be one of {names}; found {name!r}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, fit for JSON."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {
            **values,
            "streams": [stream.to_dict() for stream in self.streams],
            "contents": list(self.contents),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunPlan:
        """Plan from what :meth:`to_dict` gave.

        Raises
        ------
        StoreError
            If an entry is missing, unknown or not usable.
        """
        try:
            streams = tuple(StreamPlan.from_dict(stream) for stream in values["streams"])
            return cls(**{**values, "streams": streams, "contents": tuple(values["contents"])})
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(
                f"the plan of a run must be readable; {error}. The store is damaged or not Haarbor's."
            ) from None

    def first_difference(self, other: RunPlan) -> str | None:
        """First field in which two plans differ, in words; None if they are the same.

        Examples
        --------
        >>> stream = StreamPlan(name="decoder", n_layers=2, n_heads=4, n_queries=8, n_keys=8)
        >>> one = RunPlan(model="tiny", streams=(stream,), n_batches=3, settings={"seed": 0})
        >>> two = RunPlan(model="tiny", streams=(stream,), n_batches=3, settings={"seed": 1})
        >>> one.first_difference(two)
        'settings.seed is 0 there and 1 here'
        """
        return _difference("", self.to_dict(), other.to_dict())


def _difference(place: str, there: Any, here: Any) -> str | None:
    if isinstance(there, dict) and isinstance(here, dict):
        for name in [*there, *(name for name in here if name not in there)]:
            inner = f"{place}.{name}" if place else name
            if name not in there or name not in here:
                return f"{inner} is missing {'there' if name not in there else 'here'}"
            found = _difference(inner, there[name], here[name])
            if found is not None:
                return found
        return None
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for i, (one, other) in enumerate(zip(there, here, strict=True)):
            found = _difference(f"{place}[{i}]", one, other)
            if found is not None:
                return found
        return None
    return None if there == here else f"{place} is {there!r} there and {here!r} here"


def _json_values(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(values), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise SettingError(f"{name} must hold JSON values: texts, numbers, lists; {error}.") from None
    return plain
