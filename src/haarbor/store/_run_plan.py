"""What a run will hold, decided before its first batch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from haarbor.errors import HaarborError, SettingError, ShapeError, StoreError
from haarbor.options import found_text
from haarbor.store._documents import digest_of, first_difference
from haarbor.store._layout import MOST_BATCHES, RESERVED, name_fits
from haarbor.store._stored_numbers import StoredDtype
from haarbor.store._token_blocks import block_labels

__all__ = ["Kept", "LabelKind", "RunPlan", "StoredContent", "StreamPlan"]

StoredContent = Literal["probabilities", "logits"]
LabelKind = Literal["tokens", "patches", "none"]
Kept = Literal["tensors", "results"]

# Far more than any network has; larger numbers are a mistake or damage, and would fill the memory.
_MOST = {"n_layers": 10**5, "n_heads": 10**5, "n_queries": 10**7, "n_keys": 10**7}
_MOST_HEADS = 10**6
_MOST_LAYER_VALUES = 2**38
_MOST_STREAMS = 1000
_MOST_LEVELS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """Sizes of one kind of attention of a model, such as its decoder's or its cross attention."""

    name: str
    n_layers: int
    n_heads: int
    """Heads in each layer."""
    n_queries: int
    n_keys: int
    head_groups: tuple[int, ...] | tuple[tuple[int, ...], ...] | None = None
    """Key-value head that each head of a layer uses, shape (n_heads,), or (n_layers, n_heads) where layers
    differ; None where each head has its own."""
    rows_per_chunk: int | None = None
    """Queries that are stored together; None where a layer is one chunk."""
    pool: int = 1
    """Tokens along each side of the blocks whose means are stored; 1 where attention is stored as it is."""
    pooled_from: tuple[int, int] | None = None
    """Tokens of the queries and keys before their blocks were formed; None where there are no blocks."""

    def __post_init__(self) -> None:
        if not name_fits(self.name) or self.name in RESERVED:
            raise SettingError(
                f"a stream's name must be letters, digits, '_', '-' or '.', and none of {RESERVED}; "
                f"found {found_text(self.name)}."
                " Choose such a name."
            )
        for name, most in _MOST.items():
            size = getattr(self, name)
            if not _whole_number(size, most):
                raise ShapeError(
                    f"{name} of stream {self.name!r} must be a whole number from 1 to {most}; "
                    f"found {found_text(size)}."
                    " Pass such a number."
                )
            object.__setattr__(self, name, int(size))
        heads, values = self.n_layers * self.n_heads, math.prod(self.layer_shape)
        if heads > _MOST_HEADS or values > _MOST_LAYER_VALUES:
            raise ShapeError(
                f"stream {self.name!r} must have at most {_MOST_HEADS} heads, and {_MOST_LAYER_VALUES} "
                f"entries per layer; found {heads} and {values}. Capture fewer tokens."
            )
        if self.head_groups is not None:
            object.__setattr__(self, "head_groups", self._checked_groups())
        self._require_rows()
        self._require_blocks()

    def _require_rows(self) -> None:
        if self.rows_per_chunk is None:
            return
        if not _whole_number(self.rows_per_chunk, self.n_queries):
            raise ShapeError(
                f"rows_per_chunk of stream {self.name!r} must be a whole number from 1 to {self.n_queries}, "
                f"or None; found {found_text(self.rows_per_chunk)}. Pass such a number."
            )
        rows = int(self.rows_per_chunk)
        object.__setattr__(self, "rows_per_chunk", None if rows == self.n_queries else rows)

    def _require_blocks(self) -> None:
        if not _whole_number(self.pool, 10**7):
            raise ShapeError(
                f"pool of stream {self.name!r} must be a whole number from 1; found {found_text(self.pool)}. "
                "Pass the number of tokens in a block."
            )
        object.__setattr__(self, "pool", int(self.pool))
        sides: Any = self.pooled_from
        if self.pool == 1 and sides is None:
            return
        is_pair = isinstance(sides, Sequence) and len(sides) == 2
        if not is_pair or not all(_whole_number(side, 10**7) for side in sides):
            found = None
        else:
            object.__setattr__(self, "pooled_from", (int(sides[0]), int(sides[1])))
            found = tuple(math.ceil(side / self.pool) for side in sides)
        if self.pool == 1 or found != (self.n_queries, self.n_keys):
            raise ShapeError(
                f"pooled_from of stream {self.name!r} must be the tokens of its {self.n_queries} x "
                f"{self.n_keys} blocks of {self.pool}; found {found_text(sides)}. Pass both numbers."
            )

    def _checked_groups(self) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
        given: Any = self.head_groups
        rows = tuple(given) if isinstance(given, (Sequence, np.ndarray)) else ()
        if rows and all(isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, str) for row in rows):
            layers = tuple(tuple(row) for row in rows)
            if len(layers) == self.n_layers and all(map(self._are_groups, layers)):
                plain = tuple(tuple(int(group) for group in layer) for layer in layers)
                return plain[0] if len(set(plain)) == 1 else plain
        elif self._are_groups(rows):
            return tuple(int(group) for group in rows)
        raise ShapeError(
            f"head_groups of stream {self.name!r} must hold a key-value head for each of "
            f"{self.n_heads} heads, counted from 0, for all {self.n_layers} layers alike or for each; "
            f"found {found_text(given)}. Pass one number for each head, or None."
        )

    def _are_groups(self, groups: tuple[Any, ...]) -> bool:
        return len(groups) == self.n_heads and all(
            _whole_number(group, self.n_heads - 1, least=0) for group in groups
        )

    def groups_of_layer(self, layer: int) -> tuple[int, ...] | None:
        """Key-value head that each head of a layer uses, shape (n_heads,); None where each has its own."""
        groups: Any = self.head_groups
        found: tuple[int, ...] | None = groups
        if groups is not None and isinstance(groups[0], tuple):
            found = groups[layer]
        return found

    @property
    def layer_shape(self) -> tuple[int, int, int]:
        """Shape of one layer of one batch, (n_heads, n_queries, n_keys)."""
        return (self.n_heads, self.n_queries, self.n_keys)

    @property
    def row_chunks(self) -> tuple[slice, ...]:
        """Queries that are stored together, chunk by chunk."""
        step = self.rows_per_chunk or self.n_queries
        return tuple(
            slice(begin, min(begin + step, self.n_queries)) for begin in range(0, self.n_queries, step)
        )

    @property
    def n_tokens(self) -> tuple[int, int]:
        """Tokens of the queries and of the keys, which are as many as those unless they are in blocks."""
        return self.pooled_from or (self.n_queries, self.n_keys)

    @property
    def positions(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Positions of the queries and keys as texts, such as "7", or "0-7" for a block."""
        queries, keys = self.n_tokens
        return block_labels(queries, self.pool), block_labels(keys, self.pool)

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, fit for JSON."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        values["head_groups"] = None if self.head_groups is None else json.loads(json.dumps(self.head_groups))
        values["pooled_from"] = None if self.pooled_from is None else list(self.pooled_from)
        # What most runs do not have is left out: their digests stay what they were before there was such.
        usual = {"rows_per_chunk": None, "pool": 1, "pooled_from": None}
        return {name: value for name, value in values.items() if name not in usual or value != usual[name]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> StreamPlan:
        """Stream from what :meth:`to_dict` gave."""
        groups = values["head_groups"]
        sides = values.get("pooled_from")
        return cls(
            **{
                **values,
                "head_groups": None if groups is None else tuple(groups),
                "pooled_from": tuple(sides) if isinstance(sides, list) else sides,
            }
        )


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
    keeps: Kept = "tensors"
    """"results" if the attention itself was not kept, only what was made from it."""
    digest: str = field(init=False, repr=False, compare=False, default="")
    """SHA-256 of everything above, which every batch is tied to."""

    def __post_init__(self) -> None:
        for name in ("streams", "contents"):
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence):
                raise SettingError(f"{name} must be several; found {type(given).__name__}. Pass a tuple.")
            object.__setattr__(self, name, tuple(given))
        _require_text("model", self.model)
        _require_text("config_digest", self.config_digest)
        self._require_streams()
        known = ("probabilities", "logits")
        unknown = [content for content in self.contents if not _is_among(content, known)]
        if not self.contents or unknown or len(set(self.contents)) != len(self.contents):
            raise SettingError(
                f"contents must be among {known}, each once; found {found_text(self.contents)}."
                " Pass one of them, or both."
            )
        if not _is_among(self.dtype, ("float16", "float32")):
            raise SettingError(
                f"dtype must be 'float16' or 'float32'; found {found_text(self.dtype)}. Pass one of them."
            )
        if not _is_among(self.labels, ("tokens", "patches", "none")):
            raise SettingError(
                f"labels must be 'tokens', 'patches' or 'none'; found {found_text(self.labels)}. "
                "Pass one of them."
            )
        if not _is_among(self.keeps, ("tensors", "results")):
            raise SettingError(
                f"keeps must be 'tensors' or 'results'; found {found_text(self.keeps)}. Pass one of them."
            )
        if self.n_batches is not None:
            if not _whole_number(self.n_batches, MOST_BATCHES):
                raise SettingError(
                    f"n_batches must be at least 1 and at most {MOST_BATCHES}, or None; "
                    f"found {found_text(self.n_batches)}."
                    " Pass such a number, or None where it is not known."
                )
            object.__setattr__(self, "n_batches", int(self.n_batches))
        for name in ("settings", "library_versions"):
            object.__setattr__(self, name, _json_values(name, getattr(self, name)))
        for library, version in self.library_versions.items():
            _require_text(f"the version of {library}", version)
        object.__setattr__(self, "digest", digest_of(self.to_dict()))

    def _require_streams(self) -> None:
        wrong = [type(stream).__name__ for stream in self.streams if not isinstance(stream, StreamPlan)]
        if wrong or len(self.streams) > _MOST_STREAMS:
            found = f"a {wrong[0]}" if wrong else len(self.streams)
            raise SettingError(
                f"streams must be at most {_MOST_STREAMS} of StreamPlan; found {found}."
                " Pass a tuple of StreamPlan."
            )
        names = [stream.name for stream in self.streams]
        if not names or len(set(names)) != len(names):
            raise SettingError(
                f"a run needs streams of different names; found {found_text(names)}. Give each its own name."
            )

    @property
    def n_bytes_per_batch(self) -> int:
        """Bytes of one batch before compression, as far as it is kept."""
        n_bytes = 0
        for stream in self.streams:
            pairs = stream.n_queries * stream.n_keys
            values = stream.n_layers * stream.n_heads * pairs * len(self.kept_contents)
            n_bytes += values * np.dtype(self.dtype).itemsize + pairs
        return n_bytes

    @property
    def kept_contents(self) -> tuple[StoredContent, ...]:
        """Contents whose numbers are in the run; none where it keeps results only."""
        return self.contents if self.keeps == "tensors" else ()

    @property
    def n_bytes(self) -> int | None:
        """Bytes of the whole run before compression; None where the number of batches is unknown."""
        return None if self.n_batches is None else self.n_batches * self.n_bytes_per_batch

    def stream(self, name: str | None = None) -> StreamPlan:
        """Stream called `name`; the first one if no name is given."""
        if name is None:
            return self.streams[0]
        for stream in self.streams:
            if isinstance(name, str) and stream.name == name:
                return stream
        names = ", ".join(stream.name for stream in self.streams)
        raise SettingError(
            f"stream must be one of {names}; found {found_text(name)}. Choose one, or leave it out."
        )

    def content(self, name: str | None = None) -> StoredContent:
        """Content called `name`; if no name is given, probabilities where the run holds them."""
        if name is None:
            return "probabilities" if "probabilities" in self.contents else self.contents[0]
        for content in self.contents:
            if isinstance(name, str) and content == name:
                return content
        raise SettingError(
            f"content must be one that the run holds, {' or '.join(self.contents)}; "
            f"found {found_text(name)}. Choose that, leave it out, or capture again with it added."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionary, fit for JSON."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.init}
        if self.keeps == "tensors":
            del values["keeps"]
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
            return cls(**{**values, "streams": streams})
        except (HaarborError, TypeError) as error:
            reason = str(error).rstrip(".")
        except (KeyError, AttributeError) as error:
            reason = f"it lacks {error}"
        raise StoreError(
            f"the plan of a run must be readable; {reason}. The store is damaged or not Haarbor's: "
            "capture it again."
        )

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
        found = first_difference(self.to_dict(), other.to_dict())
        if found is None:
            return None
        if "missing" in (found.there, found.here):
            return f"{found.place} is missing {'there' if found.there == 'missing' else 'here'}"
        return f"{found.place} is {found.there} there and {found.here} here"


def _whole_number(value: object, most: int, *, least: int = 1) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        return False
    return least <= int(value) <= most


def _is_among(value: object, choices: tuple[str, ...]) -> bool:
    # An array of one text would be equal to it, and has no form in JSON.
    return isinstance(value, str) and value in choices


def _require_text(name: str, value: object) -> None:
    if not _is_text(value):
        raise SettingError(
            f"{name} must be a text that can be printed; found {found_text(value)}. Pass a name."
        )


def _is_text(value: object) -> bool:
    """Whether it is a text without halves of characters, which no terminal and no page can show."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _json_values(name: str, values: object) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise SettingError(
            f"{name} must be a mapping of names to values; found {found_text(values)}. Pass a dict."
        )
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(values), allow_nan=False))
    except RecursionError:
        raise _too_deep(name) from None
    except (TypeError, ValueError) as error:
        raise SettingError(
            f"{name} must hold JSON values: texts, numbers, lists; {error}. Pass such values only."
        ) from None
    _require_plain(name, plain, _MOST_LEVELS)
    return plain


def _require_plain(name: str, value: Any, levels_left: int) -> None:
    if isinstance(value, str):
        _require_text(f"every text in {name}", value)
    elif isinstance(value, (dict, list)):
        if not levels_left:
            raise _too_deep(name)
        for item in (*value, *value.values()) if isinstance(value, dict) else value:
            _require_plain(name, item, levels_left - 1)


def _too_deep(name: str) -> SettingError:
    return SettingError(
        f"{name} must not be nested deeper than {_MOST_LEVELS} levels; found more. Make them flatter."
    )
