"""Batches in any form (samples, tensors, dictionaries, pairs, loaders of them) taken apart into samples."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from haarbor.array_types import BoolArray
from haarbor.capturing._forward_inputs import ForwardInputs, has_rows
from haarbor.capturing.inputs import Sample, Samples, TokenKinds
from haarbor.errors import CaptureError

__all__ = ["BatchSamples"]


class BatchSamples:
    """The samples in batches of any size, one after another; samples that a run holds already are skipped.

    Parameters
    ----------
    batches : iterable, or a single batch
        Of samples, or of what `ForwardInputs` understands.
    model : torch.nn.Module
        Its forward says how many inputs it takes and what they are called.

    Raises
    ------
    CaptureError
        If there is nothing to go through.
    """

    def __init__(self, batches: Any, model: torch.nn.Module) -> None:
        if isinstance(batches, torch.Tensor | np.ndarray | Mapping | Sample):
            batches = [batches]
        elif (
            not isinstance(batches, Iterable)
            and hasattr(batches, "__getitem__")
            and hasattr(batches, "__len__")
        ):
            # Data sets of PyTorch can be indexed but not iterated over: nothing tells a loop where they end.
            batches = map(batches.__getitem__, range(len(batches)))
        if isinstance(batches, str | bytes) or not isinstance(batches, Iterable):
            raise CaptureError(
                "batches must be tensors, dictionaries of model inputs, or a loader of them; found "
                f"{batches!r:.60}. Read files with the functions of haarbor.capturing.inputs, such as "
                "text_samples."
            )
        self._batches: Any = batches
        self._inputs = ForwardInputs(model)
        self._kinds = TokenKinds(model)
        self._first: _Split | None = None

    @property
    def n_samples(self) -> int | None:
        """Number of samples; None where it is known only at the end."""
        batches = self._batches
        if isinstance(batches, Samples):
            return len(batches)
        if isinstance(batches, list | tuple):
            return sum(len(self._split(batch)) for batch in batches)
        if isinstance(batches, Sequence) and len(batches) and isinstance(batches[0], Sample):
            return len(batches)
        return None

    @property
    def content_digest(self) -> str:
        """SHA-256 of the data that the samples are made from; "" where it is not known beforehand."""
        return self._batches.content_digest if isinstance(self._batches, Samples) else ""

    @property
    def settings(self) -> Mapping[str, Any]:
        """JSON values about how the samples are made."""
        return self._batches.settings if isinstance(self._batches, Samples) else {}

    def missing(self, complete: Container[int]) -> Iterator[tuple[int, Sample]]:
        """Samples that are not complete, each with its place among all.

        Parameters
        ----------
        complete : container of int
            Places whose samples are not made.

        Yields
        ------
        (int, Sample)

        Raises
        ------
        CaptureError
            If a batch cannot be understood.
        """
        if isinstance(self._batches, Samples):
            yield from (
                (index, self._kinds.described(self._batches[index]))
                for index in range(len(self._batches))
                if index not in complete
            )
            return
        index = 0
        for batch in self._batches:
            split = self._split(batch)
            for row in range(len(split)):
                if self._first is None:
                    self._first = split
                if index not in complete:
                    yield index, self._kinds.described(split.sample(row))
                index += 1

    def first(self) -> Sample:
        """The first sample. Where batches come one by one, it is known only after `missing` has reached it.

        Raises
        ------
        CaptureError
            If there is none.
        """
        if isinstance(self._batches, Samples) and len(self._batches):
            return self._kinds.described(self._batches[0])
        if self._first is None:
            raise CaptureError("there must be at least one batch to capture; found none. Check the data.")
        return self._kinds.described(self._first.sample(0))

    def require_lasting_order(self) -> None:
        """Refuse a loader that gives its batches in another order every time.

        Raises
        ------
        CaptureError
            If it shuffles.
        """
        if isinstance(getattr(self._batches, "sampler", None), torch.utils.data.RandomSampler):
            raise CaptureError(
                "a run is continued with the batches it was begun with; this DataLoader shuffles them. "
                "Make it with shuffle=False, or choose another place for a new run."
            )

    def take_output(self, index: int, output: Any) -> None:
        """Pass what the model gave for a sample on to the samples, for those that continue from it."""
        if isinstance(self._batches, Samples):
            self._batches.take_output(index, output)

    def _split(self, batch: Any) -> _Split:
        if not isinstance(batch, Sample):
            return _Split(self._inputs.arguments(batch))
        self._inputs.require_batch_axis(batch.inputs)
        return _Split(batch)


class _Split:
    """A batch whose rows become samples when they are asked for."""

    def __init__(self, batch: Sample | dict[str, Any]) -> None:
        self._batch = batch

    def __len__(self) -> int:
        if isinstance(self._batch, Sample):
            return 1
        return next(int(value.shape[0]) for value in self._batch.values() if has_rows(value))

    def sample(self, row: int) -> Sample:
        if isinstance(self._batch, Sample):
            return self._batch
        single = {
            name: value[row : row + 1] if has_rows(value) else value for name, value in self._batch.items()
        }
        sample = Sample(inputs=single, labels=(), valid=_valid(single.get("attention_mask")))
        decoder_valid = _valid(single.get("decoder_attention_mask"))
        return sample if decoder_valid is None else dataclasses.replace(sample, decoder_valid=decoder_valid)


def _valid(padding: Any) -> BoolArray | None:
    """Tokens that are no padding, from a mask of shape (1, token); None where there is no such mask."""
    if not isinstance(padding, torch.Tensor) or padding.dim() != 2:
        return None
    return padding[0].bool().cpu().numpy()
