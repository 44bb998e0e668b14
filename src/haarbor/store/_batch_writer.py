"""Writing one batch, layer by layer, until it is complete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from haarbor.array_types import AnyArray, BoolArray, FloatArray
from haarbor.errors import DataError, SettingError, ShapeError, StoreError
from haarbor.options import found_text
from haarbor.store._batch_marker import BatchMarker, Labels
from haarbor.store._chunked_arrays import write_chunk
from haarbor.store._keys import Keys
from haarbor.store._layout import array_path, chunk_key, marker_key, picture_path
from haarbor.store._pair_rows import PairRows
from haarbor.store._pictures import checked_picture, stored_picture
from haarbor.store._plain_array import plain_array
from haarbor.store._planned_arrays import planned_arrays, planned_chunks
from haarbor.store._run_plan import RunPlan, StreamPlan
from haarbor.store._stored_numbers import stored_layer, used_places

__all__ = ["BatchWriter"]


class BatchWriter:
    """One batch being written; made by :meth:`RunWriter.batch`, never by hand.

    Each layer, or chunk of its rows, is written as soon as it is given. Only its checksum is kept in memory,
    and which (query, key) entries were used. Layers may come in any order, and the mask before or after them.
    """

    def __init__(self, keys: Keys, plan: RunPlan, batch: int) -> None:
        self._keys = keys
        self._plan = plan
        self._arrays = planned_arrays(plan, batch + 1)
        self._index = batch
        self._checksums: dict[str, str] = {}
        self._labels: dict[str, Labels] = {}
        self._kinds: dict[str, Labels] = {}
        self._picture: tuple[tuple[int, int, int], str] | None = None
        self._masks: dict[str, PairRows] = {}
        self._without_value: dict[str, PairRows] = {}
        self._not_zero: dict[str, PairRows] = {}
        self._open = True

    @property
    def index(self) -> int:
        """Number of the batch."""
        return self._index

    def __repr__(self) -> str:
        return f"BatchWriter(batch {self._index} of {self._keys.address})"

    def write_layer(self, stream: str | None, layer: int, values: Mapping[str, npt.ArrayLike]) -> None:
        """Store the attention of a layer.

        Parameters
        ----------
        stream : str or None
            None stands for the first stream of the plan.
        layer : int
        values : mapping of content to array_like of float, shape (n_heads, n_queries, n_keys)
            One entry for each content of the plan.

        Raises
        ------
        ShapeError, DataError, SettingError
            If it does not fit the plan, or holds a value that cannot be stored.
        StoreError
            If the layer was written before, or cannot be written.
        """
        sizes = self._stream(stream)
        self._require_layer(sizes, layer, values)
        # All contents are checked before any is written, so a refused layer can be given again.
        stored = self._stored(sizes, layer, values, sizes.layer_shape)
        for number in range(len(sizes.row_chunks)):
            self._keep_rows(sizes, layer, number, stored)

    def write_rows(
        self, stream: str | None, layer: int, chunk: int, values: Mapping[str, npt.ArrayLike]
    ) -> None:
        """Store the attention of some queries of a layer, those of one chunk of the plan.

        Parameters
        ----------
        stream : str or None
        layer : int
        chunk : int
            Which of :attr:`StreamPlan.row_chunks`.
        values : mapping of content to array_like of float, shape (n_heads, rows of the chunk, n_keys)

        Raises
        ------
        ShapeError, DataError, SettingError, StoreError
            As :meth:`write_layer`.
        """
        sizes = self._stream(stream)
        self._require_layer(sizes, layer, values)
        rows = self._rows(sizes, chunk)
        shape = (sizes.n_heads, rows.stop - rows.start, sizes.n_keys)
        self._keep_rows(sizes, layer, chunk, self._stored(sizes, layer, values, shape), rows.start)

    def _require_layer(self, sizes: StreamPlan, layer: int, values: Mapping[str, npt.ArrayLike]) -> None:
        is_number = isinstance(layer, (int, np.integer)) and not isinstance(layer, bool)
        if not is_number or not 0 <= layer < sizes.n_layers:
            raise SettingError(
                f"layer of stream {sizes.name!r} must lie in 0..{sizes.n_layers - 1}; "
                f"found {found_text(layer)}. Layers are counted from 0."
            )
        if not isinstance(values, Mapping) or set(values) != set(self._plan.contents):
            names = map(str, values) if isinstance(values, Mapping) else (type(values).__name__,)
            raise SettingError(
                f"a layer must hold {', '.join(self._plan.contents)}; found {', '.join(names) or 'none'}. "
                "Write what the plan's contents say."
            )

    def _stored(
        self,
        sizes: StreamPlan,
        layer: int,
        values: Mapping[str, npt.ArrayLike],
        shape: tuple[int, int, int],
    ) -> dict[str, FloatArray]:
        place = f"batch {self._index}, stream {sizes.name!r}, layer {layer}"
        return {
            content: stored_layer(values[content], shape, self._plan.dtype, content, place)
            for content in self._plan.contents
        }

    def _rows(self, sizes: StreamPlan, chunk: int) -> slice:
        chunks = sizes.row_chunks
        if (
            not isinstance(chunk, (int, np.integer))
            or isinstance(chunk, bool)
            or chunk not in range(len(chunks))
        ):
            raise SettingError(
                f"chunk of stream {sizes.name!r} must lie in 0..{len(chunks) - 1}; found "
                f"{found_text(chunk)}. Chunks of rows are counted from 0."
            )
        return chunks[chunk]

    def _keep_rows(
        self, sizes: StreamPlan, layer: int, chunk: int, stored: Mapping[str, FloatArray], first: int = 0
    ) -> None:
        """Write one chunk of rows out of arrays that begin with the row `first`."""
        rows = sizes.row_chunks[chunk]
        for content, array in stored.items():
            part = array[:, rows.start - first : rows.stop - first]
            self._write(array_path(sizes.name, content), layer, chunk, part)
            kept = self._without_value if content == "logits" else self._not_zero
            pairs = kept.setdefault(sizes.name, PairRows(sizes.n_keys))
            pairs.add(rows.start, used_places(part, content))

    def write_mask(self, stream: str | None, mask: npt.ArrayLike) -> None:
        """Store which entries are valid.

        Parameters
        ----------
        stream : str or None
        mask : array_like of bool, shape (n_queries, n_keys)
            True where a query may look at a key; padding is False.
        """
        sizes = self._stream(stream)
        array = self._checked_mask(sizes, mask, sizes.n_queries)
        self._require_open_entry(sizes, bool(array.any()))
        for number, rows in enumerate(sizes.row_chunks):
            self._keep_mask(sizes, number, array[rows])

    def write_mask_rows(self, stream: str | None, chunk: int, mask: npt.ArrayLike) -> None:
        """Store which entries of some queries are valid, those of one chunk of the plan.

        Parameters
        ----------
        stream : str or None
        chunk : int
            Which of :attr:`StreamPlan.row_chunks`.
        mask : array_like of bool, shape (rows of the chunk, n_keys)
        """
        sizes = self._stream(stream)
        rows = self._rows(sizes, chunk)
        self._keep_mask(sizes, chunk, self._checked_mask(sizes, mask, rows.stop - rows.start))

    def _checked_mask(self, sizes: StreamPlan, mask: npt.ArrayLike, n_rows: int) -> AnyArray:
        array = plain_array(mask, f"mask of stream {sizes.name!r}")
        expected = (n_rows, sizes.n_keys)
        if array.dtype != np.bool_ or array.shape != expected:
            raise ShapeError(
                f"mask of stream {sizes.name!r} must be boolean of shape {expected} (query, key); found "
                f"{array.dtype} of shape {array.shape}. An additive mask becomes one by mask == 0."
            )
        return array

    def _require_open_entry(self, sizes: StreamPlan, is_there: bool) -> None:
        if not is_there:
            raise DataError(
                f"mask of stream {sizes.name!r} must leave a valid entry; batch {self._index} has none."
                " Leave such a sample out."
            )

    def _keep_mask(self, sizes: StreamPlan, chunk: int, rows: BoolArray) -> None:
        self._write(array_path(sizes.name, "mask"), None, chunk, rows)
        kept = self._masks.setdefault(sizes.name, PairRows(sizes.n_keys))
        kept.add(sizes.row_chunks[chunk].start, rows)

    def write_labels(
        self,
        stream: str | None,
        query_labels: Sequence[str] | None,
        key_labels: Sequence[str] | None = None,
    ) -> None:
        """Keep the texts of the queries and keys; they are stored when the batch is complete.

        Parameters
        ----------
        stream : str or None
        query_labels : sequence of str, length n_queries, or None
            If None, their positions.
        key_labels : sequence of str, length n_keys, optional
            If not given, the labels of the queries if there are as many keys, and otherwise their positions.
        """
        sizes = self._stream(stream)
        if self._plan.labels == "none":
            raise SettingError(
                "labels need a plan with labels='tokens' or 'patches'; this one has 'none'."
                " Make the plan with one of them."
            )
        if key_labels is None and sizes.n_keys == sizes.n_queries:
            key_labels = query_labels
        self._labels[sizes.name] = Labels(
            _texts(query_labels, f"query labels of stream {sizes.name!r}", sizes.n_queries),
            _texts(key_labels, f"key labels of stream {sizes.name!r}", sizes.n_keys),
        )

    def write_kinds(
        self,
        stream: str | None,
        query_kinds: Sequence[str] | None,
        key_kinds: Sequence[str] | None = None,
    ) -> None:
        """Keep what kind of token each query and key is; a batch need not have kinds.

        Parameters
        ----------
        stream : str or None
        query_kinds : sequence of str, length n_queries, or None
            Such as "text" or "image"; None or () where they are not known.
        key_kinds : sequence of str, length n_keys, optional
            () where they are not known. If None, the kinds of the queries if there are as many keys, and
            otherwise unknown.
        """
        sizes = self._stream(stream)
        if key_kinds is None and sizes.n_keys == sizes.n_queries:
            key_kinds = query_kinds
        self._kinds[sizes.name] = Labels(
            *(
                ()
                if kinds is None or kinds == ()
                else _texts(kinds, f"{side} kinds of stream {sizes.name!r}", size)
                for side, kinds, size in (
                    ("query", query_kinds, sizes.n_queries),
                    ("key", key_kinds, sizes.n_keys),
                )
            )
        )

    def write_picture(self, picture: npt.ArrayLike) -> None:
        """Store a small picture of what the network saw; a batch need not have one.

        Parameters
        ----------
        picture : array_like of uint8, shape (height, width, 3)
            At most 224 pixels on a side, normalisation undone.

        Raises
        ------
        ShapeError
            If it is of another dtype or shape, or larger.
        StoreError
            If it was written before, or cannot be written.
        """
        self._require_open()
        checked = checked_picture(picture)
        if self._picture is not None:
            raise StoreError(
                f"the picture of batch {self._index} must be written once; it was written before."
                " Write it once per batch."
            )
        height, width, channels = checked.shape
        written = stored_picture(self._keys, self._index, checked)
        self._picture = ((height, width, channels), written)

    def _stream(self, name: str | None) -> StreamPlan:
        self._require_open()
        return self._plan.stream(name)

    def _require_open(self) -> None:
        if not self._open:
            raise StoreError(
                f"a batch can be written only inside its block; batch {self._index} was left. "
                "Indent the call under `with writer.batch(...)`."
            )

    def _write(self, path: str, layer: int | None, chunk: int, values: AnyArray) -> None:
        key = chunk_key(path, self._index, layer, chunk)
        what = path if layer is None else f"layer {layer} of {path}"
        if key in self._checksums:
            raise StoreError(f"{what} of batch {self._index} must be written once; it was written before.")
        description = self._arrays[path]
        lacking = description.chunk_shape[-2] - values.shape[-2]
        if lacking:
            # Chunks of an array are equally large: the last rows are followed by zeros.
            values = np.pad(values, [(0, 0)] * (values.ndim - 2) + [(0, lacking), (0, 0)])
        self._checksums[key] = write_chunk(self._keys, key, description, values)

    def _finish(self) -> None:
        """Check that everything was written, and wait until it is safely on disk."""
        self._require_everything()
        for stream in self._plan.streams:
            self._require_agreement(stream)
        self._keys.make_durable(self._checksums)

    def _mark(self) -> None:
        """Mark the batch complete."""
        self._keys.write(marker_key(self._index), self._marker().to_bytes())

    def _close(self) -> None:
        self._open = False

    def _require_everything(self) -> None:
        missing = []
        for stream in self._plan.streams:
            for content in self._plan.contents:
                path = array_path(stream.name, content)
                lacking = dict.fromkeys(str(layer) for layer, _ in self._lacking(stream, content))
                if lacking:
                    missing.append(f"{path} layers {', '.join(lacking)}")
            if self._lacking(stream, "mask"):
                missing.append(f"the mask of {stream.name!r}")
        if missing:
            raise StoreError(
                f"a batch must be written whole; batch {self._index} lacks {'; '.join(missing)}. "
                "Write them inside the block; the batch was left out."
            )

    def _lacking(self, stream: StreamPlan, content: str) -> list[tuple[int | None, int]]:
        """Layer and chunk of rows of everything that was not written."""
        path = array_path(stream.name, content)
        return [
            (layer, chunk)
            for layer, chunk in planned_chunks(stream, content)
            if chunk_key(path, self._index, layer, chunk) not in self._checksums
        ]

    def _require_agreement(self, stream: StreamPlan) -> None:
        mask = self._masks[stream.name]
        begins = [rows.start for rows in stream.row_chunks]
        self._require_open_entry(stream, any(mask.chunk(begin).any() for begin in begins))
        name = f"batch {self._index}, stream {stream.name!r}"
        if stream.name in self._not_zero:
            used = self._not_zero[stream.name]
            stray = ((begin, used.chunk(begin) & ~mask.chunk(begin)) for begin in begins)
            (query, key), n_stray = _first_and_number(stray)
            if n_stray:
                raise DataError(
                    f"masked probabilities must be 0; {name} has another value at query {query}, key {key}, "
                    f"{n_stray} such places in all. Check that the mask is True where entries are "
                    "valid; set the rows of padding to 0."
                )
        if stream.name in self._without_value:
            empty = self._without_value[stream.name]
            stray = ((begin, empty.chunk(begin) & mask.chunk(begin)) for begin in begins)
            (query, key), n_stray = _first_and_number(stray)
            if n_stray:
                raise DataError(
                    f"logits must be finite where the mask is open; {name} has -inf at query {query}, key "
                    f"{key}, {n_stray} such places in all. Pass the mask the model used, or logits before "
                    "masking."
                )

    def _marker(self) -> BatchMarker:
        checksums: dict[str, tuple[str, ...]] = {}
        for stream in self._plan.streams:
            for content in (*self._plan.contents, "mask"):
                path = array_path(stream.name, content)
                checksums[path] = tuple(
                    self._checksums[chunk_key(path, self._index, layer, chunk)]
                    for layer, chunk in planned_chunks(stream, content)
                )
        shape = None
        if self._picture is not None:
            shape, written = self._picture
            checksums[picture_path(self._index)] = (written,)
        return BatchMarker(
            batch=self._index,
            plan=self._plan.digest,
            checksums=checksums,
            labels=self._labels,
            picture=shape,
            kinds=self._kinds,
        )


def _first_and_number(stray: Iterable[tuple[int, BoolArray]]) -> tuple[tuple[int, int], int]:
    """Query and key of the first entry that is True, and how many are, in chunks that begin with a row."""
    first, number = (-1, -1), 0
    for begin, entries in stray:
        here = int(entries.sum())
        if here and not number:
            row, key = np.argwhere(entries)[0]
            first = (begin + int(row), int(key))
        number += here
    return first, number


def _texts(labels: Sequence[str] | None, what: str, size: int) -> tuple[str, ...]:
    if labels is None:
        return tuple(map(str, range(size)))
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        found = f"one {type(labels).__name__}"
    else:
        texts = tuple(labels)
        others = {type(text).__name__ for text in texts if not isinstance(text, str)}
        if len(texts) == size and not others:
            return texts
        found = f"{len(texts)} of {', '.join(sorted(others)) or 'str'}"
    raise ShapeError(
        f"{what} must be {size} texts; found {found}. Pass one text for each position, padding included."
    )
