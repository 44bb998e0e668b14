"""One content and one stream of a run: the part that is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from haarbor.array_types import BoolArray
from haarbor.store._batch_marker import Labels
from haarbor.store._head_tensor import HeadTensor
from haarbor.store._kept_result import KeptResult
from haarbor.store._run_plan import StoredContent, StreamPlan

if TYPE_CHECKING:
    from haarbor.store._run import Run

__all__ = ["RunPart"]

_Batches = int | Sequence[int] | None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunPart:
    """The attention of one stream in one content, with the results made from it.

    A run may hold probabilities and logits, of several streams such as an encoder's and a decoder's.
    Made by :meth:`haarbor.store.Run.part`, which knows what is meant where nothing is asked for.
    """

    run: Run
    content: StoredContent
    stream: str

    @property
    def batches(self) -> tuple[int, ...]:
        """Complete batches of the run."""
        return self.run.batches

    @property
    def sizes(self) -> StreamPlan:
        """Layers, heads, queries and keys of the stream."""
        return self.run.plan.stream(self.stream)

    def tensor(self, batch: int = 0) -> HeadTensor:
        """Attention of a batch; see :meth:`haarbor.store.Run.tensor`."""
        return self.run.tensor(batch, self.content, self.stream)

    def mask(self, batch: int = 0) -> BoolArray:
        """Valid entries of a batch, shape (n_queries, n_keys)."""
        return self.run.mask(batch, self.stream)

    def labels(self, batch: int = 0) -> Labels:
        """Texts of the queries and keys of a batch."""
        return self.run.labels(batch, self.stream)

    def token_kinds(self, batch: int = 0) -> Labels:
        """Kinds of the queries and keys of a batch; see :meth:`haarbor.store.Run.token_kinds`."""
        return self.run.token_kinds(batch, self.stream)

    def save_result(self, value: object, name: str, *, batch: _Batches = None) -> None:
        """Keep a result; see :meth:`haarbor.store.Run.save_result`."""
        self.run.save_result(value, name, batch=batch, content=self.content, stream=self.stream)

    def load_result(self, name: str, *, batch: _Batches = None) -> Any:
        """Result as it was saved; see :meth:`haarbor.store.Run.load_result`."""
        return self.run.load_result(name, batch=batch, content=self.content, stream=self.stream)

    def has_result(self, name: str, *, batch: _Batches = None) -> bool:
        """Whether there is a whole result; see :meth:`haarbor.store.Run.has_result`."""
        return self.run.has_result(name, batch=batch, content=self.content, stream=self.stream)

    def kept_result(self, name: str, *, batch: _Batches = None) -> KeptResult:
        """Result with what became of it; see :meth:`haarbor.store.Run.kept_result`."""
        return self.run.kept_result(name, batch=batch, content=self.content, stream=self.stream)

    def delete_result(self, name: str, *, batch: _Batches = None) -> None:
        """Remove a result; nothing happens if there is none."""
        self.run.delete_result(name, batch=batch, content=self.content, stream=self.stream)
