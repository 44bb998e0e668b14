"""A run on disk, for reading: its plan, the attention of every complete batch, its results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from haarbor.array_types import BoolArray, ByteArray, IntArray, frozen
from haarbor.errors import StoreError
from haarbor.printable import printable
from haarbor.store._batch_marker import Labels, checked_batch, complete_batches, read_marker
from haarbor.store._chunk_reader import ChunkReader, damaged_run
from haarbor.store._damage import Damage, damages
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._head_tensor import HeadTensor
from haarbor.store._kept_result import KeptResult
from haarbor.store._keys import Keys, Place, keys_at
from haarbor.store._passing_keys import PassingKeys
from haarbor.store._pictures import read_picture
from haarbor.store._result_name import ResultName
from haarbor.store._result_store import ResultStore
from haarbor.store._run_document import read_plan
from haarbor.store._run_part import RunPart
from haarbor.store._run_plan import RunPlan, StoredContent

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["Run", "open_run"]


def open_run(
    location: str | os.PathLike[str] | Store, *, storage_options: Mapping[str, Any] | None = None
) -> Run:
    """Run at a place, for reading and for keeping results in it.

    Parameters
    ----------
    location : str, path or zarr.abc.store.Store
        A folder, any fsspec URL, or a zarr store.
    storage_options : mapping, optional
        For the file system of a URL.

    Returns
    -------
    Run

    Raises
    ------
    StoreError
        If there is no run there that this version of Haarbor can read.

    See Also
    --------
    haarbor.capture : Record the attention of a model.
    haarbor.import_arrays : A run from arrays.
    haarbor.store.Run : The run.
    """
    return Run(keys_at(location, read_only=False, storage_options=storage_options))


class Run:
    """A run, made by :func:`open_run`.

    Only complete batches are seen. Where a model has several streams (encoder, decoder, cross),
    everything that takes a stream takes the first one unless told otherwise, and so do
    `layers`, `heads_per_layer`, `n_heads` and `head_layers`.

    See Also
    --------
    haarbor.open_run : Open a run for reading.
    haarbor.capture : Record the attention of a model.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._plan = read_plan(keys)
        self._results = ResultStore(keys, self._plan)

    @property
    def location(self) -> str:
        """Path or URL of the run."""
        return self._keys.address

    @property
    def place(self) -> Place | None:
        """Arguments of :func:`open_run` in another process: path or URL, and options; None if none can."""
        return self._keys.place

    @property
    def plan(self) -> RunPlan:
        """What the run holds, and the settings that made it."""
        return self._plan

    @property
    def model(self) -> str:
        """Name of the model."""
        return self._plan.model

    @property
    def contents(self) -> tuple[StoredContent, ...]:
        """What was kept: probabilities, logits or both."""
        return self._plan.contents

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of the streams."""
        return tuple(stream.name for stream in self._plan.streams)

    @property
    def batches(self) -> tuple[int, ...]:
        """Indices of the complete batches, increasing, as they are now."""
        return complete_batches(self._keys)

    @property
    def n_batches(self) -> int:
        """Number of complete batches."""
        return len(self.batches)

    @property
    def layers(self) -> tuple[int, ...]:
        """Numbers of the layers, 0, 1, ..."""
        return tuple(range(self._plan.stream().n_layers))

    @property
    def heads_per_layer(self) -> int:
        """Heads in each layer."""
        return self._plan.stream().n_heads

    @property
    def n_heads(self) -> int:
        """Heads of all layers together."""
        return len(self.layers) * self.heads_per_layer

    @property
    def head_layers(self) -> IntArray:
        """Layer of each head, in the order of :meth:`tensor`, shape (n_heads,)."""
        return frozen(np.repeat(np.arange(len(self.layers)), self.heads_per_layer))

    def __repr__(self) -> str:
        total = self._plan.n_batches
        batches = f"{self.n_batches} batches" if total is None else f"{self.n_batches} of {total} batches"
        several = len(self._plan.streams) > 1
        streams = "; ".join(
            (f"{stream.name} " if several else "")
            + f"{stream.n_layers} layers x {stream.n_heads} heads, {stream.n_queries} x {stream.n_keys}"
            for stream in self._plan.streams
        )
        return (
            f"Run({printable(self.model)}: {streams}, {batches}, {', '.join(self.contents)} "
            f"as {self._plan.dtype})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the facts, and the heads' entropies where the run is organised."""
        from haarbor.notebook import facts_html, matrix_picture

        stream, batches = self._plan.stream(), self.batches
        total = self._plan.n_batches
        facts = {
            "model": self.model,
            "heads": f"{stream.n_layers} layers x {stream.n_heads}",
            "queries x keys": f"{stream.n_queries} x {stream.n_keys}",
            "batches": str(len(batches)) if total is None else f"{len(batches)} of {total}",
            "content": f"{', '.join(self.contents)} as {self._plan.dtype}",
            "streams": ", ".join(self.streams),
        }
        pictures = []
        entropy = self.kept_result("head-entropy", batch=batches[0]) if batches else None
        if entropy is not None and entropy.state == "whole":
            raw = entropy.value.raw
            caption = f"Haar entropy on batch {batches[0]}, layers down: {raw.min():.3g} to {raw.max():.3g}"
            raw = raw.reshape(stream.n_layers, stream.n_heads)
            pictures.append((caption, matrix_picture(raw, caption, side=max(60, 12 * stream.n_layers))))
        else:
            damaged = entropy is not None and entropy.state == "damaged"
            facts["organised"] = "damaged; haarbor organize makes it again" if damaged else "not yet"
        return facts_html("Run", facts, pictures)

    def part(self, content: str | None = None, stream: str | None = None) -> RunPart:
        """One content and one stream of the run, with the results made from it.

        Parameters
        ----------
        content : {"probabilities", "logits"}, optional
            Probabilities if not given and the run holds them, else what it holds.
        stream : str, optional
            The first one if not given.

        Raises
        ------
        SettingError
            If the run does not hold this content or stream.
        """
        sizes = self._plan.stream(stream)
        return RunPart(run=self, content=self._plan.content(content), stream=sizes.name)

    def tensor(self, batch: int = 0, content: str | None = None, stream: str | None = None) -> HeadTensor:
        r"""Attention of a batch, query x key x head.

        Parameters
        ----------
        batch : int, default 0
        content : {"probabilities", "logits"}, optional
        stream : str, optional
            What is meant where none is given says :meth:`part`.

        Returns
        -------
        HeadTensor, shape (n_queries, n_keys, n_layers * n_heads)
            float32, heads layer by layer; read when it is looked at.

        Raises
        ------
        StoreError
            If the batch is not complete; when it is read, if a chunk is damaged.
        SettingError
            If the run does not hold this content or stream.

        Notes
        -----
        Stored as float16, a value lies within :math:`\max(2^{-11} |x|, 2^{-25})` of the model's.
        """
        sizes = self._plan.stream(stream)
        found = self._plan.content(content)
        if self._plan.keeps == "results":
            self.require_tensors(batch)
        reader = ChunkReader(self._keys, self._plan, batch, sizes, found)

        return HeadTensor(reader.layer, sizes.n_layers, sizes.layer_shape)

    def mask(self, batch: int = 0, stream: str | None = None) -> BoolArray:
        """Valid entries of a batch, shape (n_queries, n_keys)."""
        reader = ChunkReader(self._keys, self._plan, batch, self._plan.stream(stream), "mask")
        return frozen(reader.mask())

    def labels(self, batch: int = 0, stream: str | None = None) -> Labels:
        """Texts of the queries and keys of a batch; their positions where none were written.

        Where means over blocks of tokens are stored, the positions of a block, such as "0-7".
        """
        sizes = self._plan.stream(stream)
        marker = read_marker(self._keys, self._plan, batch)
        if sizes.name in marker.labels:
            return marker.labels[sizes.name]
        return Labels(*sizes.positions)

    def token_kinds(self, batch: int = 0, stream: str | None = None) -> Labels:
        """What kind of token each query and key of a batch is, such as "text", "image" or "answer".

        Each side is empty where kinds were not kept; otherwise it can stand wherever labels can.
        """
        marker = read_marker(self._keys, self._plan, batch)
        return marker.kinds.get(self._plan.stream(stream).name, Labels((), ()))

    def picture(self, batch: int = 0) -> ByteArray | None:
        """What the network saw in a batch, uint8 of shape (height, width, 3); None if that was not kept."""
        marker = read_marker(self._keys, self._plan, batch)
        try:
            return read_picture(self._keys, marker)
        except DamagedPartError as error:
            part = Damage(batch=batch, content="picture", reason=str(error))
            raise damaged_run(self._keys, part) from None

    def require_tensors(self, batch: int | None = None) -> None:
        """Refuse a run that keeps results only, unless it is being made and still holds the batch.

        Raises
        ------
        StoreError
        """
        if self._plan.keeps == "tensors":
            return
        if batch is None or not (isinstance(self._keys, PassingKeys) and self._keys.holds(batch)):
            raise StoreError(
                f"this needs the attention itself; {self._keys.address} keeps results only, as haarbor "
                "analyze made it. Record the attention with haarbor capture, into another place."
            )

    def size_on_disk(self) -> int:
        """Bytes of everything stored, results included."""
        return self._keys.n_bytes()

    def verify(self) -> tuple[Damage, ...]:
        """Every part, results included, that no longer holds what was written. Reads the whole run."""
        return tuple(damages(self._keys, self._plan))

    def save_result(
        self,
        value: object,
        name: str,
        *,
        batch: int | Sequence[int] | None = None,
        content: str | None = None,
        stream: str | None = None,
    ) -> None:
        """Save a result in the run, in place of one of the same name.

        Parameters
        ----------
        value : object
            A result of Haarbor (see :func:`haarbor.store.stored_result`), a tree, an array,
            or a mapping, list or tuple of such.
        name : str
            As in "organization".
        batch : int or sequence of int, optional
            The batch it was made from, or several; all complete ones if not given.
        content : {"probabilities", "logits"}, optional
        stream : str, optional
            What is meant where none is given says :meth:`part`.

        Raises
        ------
        StoreError
            If it cannot be written; what was there is then gone, or whole.
        """
        self._results.save(self._named(name, batch, content, stream), value, self._sources(batch))

    def load_result(
        self,
        name: str,
        *,
        batch: int | Sequence[int] | None = None,
        content: str | None = None,
        stream: str | None = None,
    ) -> Any:
        """Result as it was saved.

        Raises
        ------
        StoreError
            If there is none, if it is damaged, or if it was made from other batches than there are now.
        """
        return self._results.load(self._named(name, batch, content, stream), self._sources(batch))

    def has_result(
        self,
        name: str,
        *,
        batch: int | Sequence[int] | None = None,
        content: str | None = None,
        stream: str | None = None,
    ) -> bool:
        """Whether there is a whole result of that name, made from the batches as they are now.

        False as well where one of the batches is not there.
        """
        try:
            sources = self._sources(batch)
        except StoreError:
            return False
        return self._results.has(self._named(name, batch, content, stream), sources)

    def kept_result(
        self,
        name: str,
        *,
        batch: int | Sequence[int] | None = None,
        content: str | None = None,
        stream: str | None = None,
    ) -> KeptResult:
        """Result together with its state: whole, absent, made from other batches, or damaged.

        Where :meth:`load_result` raises because of the result, this returns the reason; a batch that is
        not there or a disk that fails is still a StoreError.
        """
        return self._results.kept(self._named(name, batch, content, stream), self._sources(batch))

    def delete_result(
        self,
        name: str,
        *,
        batch: int | Sequence[int] | None = None,
        content: str | None = None,
        stream: str | None = None,
    ) -> None:
        """Remove a result; nothing happens if there is none."""
        self._results.delete(self._named(name, batch, content, stream))

    def results(self) -> tuple[ResultName, ...]:
        """Names of all results whose description is whole; :meth:`has_result` looks at the numbers too."""
        return self._results.names()

    def digest(self, batch: int) -> str:
        """Checksum of everything in a complete batch, by which two copies of it are told to be the same."""
        return read_marker(self._keys, self._plan, batch).digest

    def _named(
        self, name: str, batch: int | Sequence[int] | None, content: str | None, stream: str | None
    ) -> ResultName:
        chosen = _chosen(batch)
        found = ResultName(
            stream=self._plan.stream(stream).name,
            content=self._plan.content(content),
            batch=chosen if isinstance(chosen, int) else None,
            name=name,
        )
        found.require_part_of(self._plan)
        return found

    def _sources(self, batch: int | Sequence[int] | None) -> dict[str, str]:
        chosen = self.batches if batch is None else _chosen(batch)
        batches = (chosen,) if isinstance(chosen, int) else chosen or ()
        return {str(index): read_marker(self._keys, self._plan, index).digest for index in batches}


def _chosen(batch: object) -> int | tuple[int, ...] | None:
    """The batch or batches that were asked for; None for all."""
    if batch is None:
        return None
    if isinstance(batch, str) or not isinstance(batch, Iterable) or getattr(batch, "ndim", 1) == 0:
        return checked_batch(batch)
    return tuple(checked_batch(index) for index in batch)
