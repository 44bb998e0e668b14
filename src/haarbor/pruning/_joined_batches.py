"""Batches of equal shape run together, and told apart again by their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch

from haarbor.errors import HaarborError
from haarbor.pruning._model_batches import ModelBatch, forward

__all__ = ["JoinedBatch", "joined_batches", "shares_rows"]

_MOST_ROWS = 32
_MOST_TOKENS = 8192
"""Of a text in all rows of a joined batch: more take memory, and no less time."""
_MOST_NUMBERS = 2**25
"""In the answers to a joined batch."""
_MOST_NUMBERS_ON_DEVICE = 2**28
"""On a GPU, which has more to do at once."""
_TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4}
"""Largest difference between an answer and the same one among others, of the largest number in it; rounding
depends on how many rows are multiplied at a time. Half precisions are allowed 200 times as much."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JoinedBatch:
    """Some batches as one."""

    batch: ModelBatch
    places: tuple[int, ...]
    """Of the batches in the sequence that they are from."""
    sizes: tuple[int, ...]
    """Rows of each of them."""

    def parts(self) -> Iterator[tuple[int, slice]]:
        """Place of each batch, and its rows in the joined one."""
        begin = 0
        for place, size in zip(self.places, self.sizes, strict=True):
            yield place, slice(begin, begin + size)
            begin += size


_TRIED: WeakKeyDictionary[torch.nn.Module, dict[Any, int]] = WeakKeyDictionary()
"""Rows of each shape that a network takes at once, once it was tried: 1 if its rows depend on each other."""


def joined_batches(
    model: torch.nn.Module, batches: Sequence[ModelBatch], *, most_tokens: int = _MOST_TOKENS
) -> tuple[JoinedBatch, ...]:
    """Batches put together for fewer and larger forward passes.

    Only batches whose tensors have the same names, types and shapes but for the number of rows are joined, so
    nothing is padded. That the rows of the network do not depend on each other is not assumed: for each
    shape the first batch is run by itself and among others, once for each network, and where the answers
    differ by more than rounding every batch stays alone.

    Parameters
    ----------
    model : torch.nn.Module
    batches : sequence of ModelBatch
        As the model is shown them.
    most_tokens : int, default 8192
        Tokens that are run at once at most, where the model takes tokens.

    Returns
    -------
    tuple of JoinedBatch
        Every batch is in one of them; a batch is never cut.
    """
    by_shape: dict[Any, list[int]] = {}
    for place, batch in enumerate(batches):
        by_shape.setdefault(_shape(batch), []).append(place)
    found = []
    for shape, places in by_shape.items():
        most_rows = _rows_at_once(model, shape, [batches[place] for place in places])
        tokens = batches[places[0]].tokens
        if tokens is not None:
            most_rows = min(most_rows, max(1, most_tokens // max(tokens.shape[1], 1)))
        for group in _groups(places, [len(batches[place]) for place in places], most_rows):
            found.append(_joined(batches, group))
    return tuple(found)


def _groups(places: Sequence[int], sizes: Sequence[int], most_rows: int) -> Iterator[list[int]]:
    group: list[int] = []
    n_rows = 0
    for place, size in zip(places, sizes, strict=True):
        if group and n_rows + size > most_rows:
            yield group
            group, n_rows = [], 0
        group.append(place)
        n_rows += size
    yield group


def _rows_at_once(model: torch.nn.Module, shape: Any, batches: Sequence[ModelBatch]) -> int:
    known = _TRIED.setdefault(model, {})
    if len(batches) < 2:
        return known.get(shape, 1)
    if shape not in known:
        known[shape] = _tried_rows(model, batches)
    return known[shape]


def _tried_rows(model: torch.nn.Module, batches: Sequence[ModelBatch]) -> int:
    """How many rows may be run at once, by running the first two batches apart and together."""
    pair = _joined(batches, [0, 1])
    try:
        with torch.no_grad():
            alone = _answer(forward(model, batches[0]))
            together = _answer(forward(model, pair.batch))
    except HaarborError:
        # Whatever is wrong with a batch is told where it is measured.
        return 1
    if alone is None or together is None or not shares_rows(alone, together, len(pair.batch)):
        return 1
    per_row = max(1, alone.numel() // max(len(batches[0]), 1))
    most = _MOST_NUMBERS if alone.device.type == "cpu" else _MOST_NUMBERS_ON_DEVICE
    return max(1, min(_MOST_ROWS, most // per_row))


def _answer(output: Any) -> torch.Tensor | None:
    """Scores or vectors in what a model answers; None if there are none."""
    first = output[0] if isinstance(output, tuple | list) and output else output
    for found in (first, getattr(output, "logits", None), getattr(output, "last_hidden_state", None)):
        if isinstance(found, torch.Tensor):
            return found
    return None


def shares_rows(alone: torch.Tensor, together: torch.Tensor, n_rows: int) -> bool:
    """Whether the first rows of one answer are the other answer, but for rounding.

    Parameters
    ----------
    alone : tensor, shape (n, ...)
    together : tensor, shape (n_rows, ...)
    n_rows : int
        Rows that there should be together.
    """
    if together.dim() == 0 or together.shape[0] != n_rows or together.shape[1:] != alone.shape[1:]:
        return False
    scale = float(alone.abs().max()) if alone.numel() else 0.0
    tolerance = _TOLERANCE.get(alone.dtype, 2e-2)
    return bool(((together[: alone.shape[0]] - alone).abs().max() <= tolerance * scale + 1e-6).item())


def _shape(batch: ModelBatch) -> Any:
    parts: list[tuple[str, torch.Tensor | None]] = [
        *sorted(batch.inputs.items()), ("labels", batch.labels), ("counted", batch.counted),
    ]  # fmt: skip
    return tuple(
        (name, None if value is None else (tuple(value.shape[1:]), value.dtype, value.device))
        for name, value in parts
    )


def _joined(batches: Sequence[ModelBatch], places: Sequence[int]) -> JoinedBatch:
    own = [batches[place] for place in places]
    first = own[0]
    joint = first
    if len(own) > 1:
        joint = ModelBatch(
            inputs={name: torch.cat([batch.inputs[name] for batch in own]) for name in first.inputs},
            labels=_concatenated([batch.labels for batch in own]),
            counted=_concatenated([batch.counted for batch in own]),
        )
    return JoinedBatch(batch=joint, places=tuple(places), sizes=tuple(map(len, own)))


def _concatenated(tensors: Sequence[torch.Tensor | None]) -> torch.Tensor | None:
    known = [tensor for tensor in tensors if tensor is not None]
    return torch.cat(known) if known else None
