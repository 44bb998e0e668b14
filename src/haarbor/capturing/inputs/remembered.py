"""Windows of a text, each read with the memory of the ones before."""

from __future__ import annotations

import dataclasses
import math

import torch

from haarbor.capturing.inputs.samples import Sample, Samples
from haarbor.errors import CaptureError
from haarbor.zoo import TransformerXL

__all__ = ["remembered_samples", "windows_to_fill"]


def windows_to_fill(model: torch.nn.Module, n_tokens: int) -> int:
    """Number of windows that fill the memory of a network.

    Parameters
    ----------
    model : TransformerXL
    n_tokens : int
        Length of a window.

    Returns
    -------
    int

    Raises
    ------
    CaptureError
        If the model has no memory.
    """
    if not isinstance(model, TransformerXL) or model.config.memory_length == 0:
        raise CaptureError(
            "the model must have a memory of earlier segments, as a Transformer-XL of haarbor.zoo has; "
            f"{type(model).__name__} has none. Capture it without one."
        )
    return math.ceil(model.config.memory_length / n_tokens)


def remembered_samples(windows: Samples, model: TransformerXL) -> Samples:
    """Consecutive windows of a text, each with the memory that the network has of the text before it.

    A Transformer-XL is trained with a full memory; without one it reads every window as the beginning
    of a text. The first windows are spent on filling the memory, so all samples have the same keys: the
    remembered tokens, then those of the window.

    Parameters
    ----------
    windows : Samples
        Consecutive windows of one length.
    model : TransformerXL
        In eval mode.

    Returns
    -------
    Samples
        As many fewer than `windows` as fill the memory.

    Raises
    ------
    CaptureError
        If the model has no memory, or there are too few windows to fill it.
    """
    n_filling = windows_to_fill(model, len(windows[0].labels))
    if len(windows) <= n_filling:
        raise CaptureError(
            f"a memory of {model.config.memory_length} tokens must be filled first; the text holds "
            f"{len(windows)} windows, of which that takes {n_filling}. Give a longer text."
        )
    return _Remembered(windows, model, n_filling)


class _Remembered(Samples):
    def __init__(self, windows: Samples, model: TransformerXL, n_filling: int) -> None:
        self._windows, self._model, self._n_filling = windows, model, n_filling
        # Memory before one window; the next one is reached from it with a single step.
        self._before = 0
        self._memory: torch.Tensor | None = None

    @property
    def description(self) -> str:
        length = self._model.config.memory_length
        return f"{self._windows.description}; each with the {length} tokens before it in memory"

    def __len__(self) -> int:
        return len(self._windows) - self._n_filling

    def sample(self, index: int) -> Sample:
        """Window after `index` others, not counting those that fill the memory."""
        place = index + self._n_filling
        memory = self._memory_before(place)
        sample = self._windows[place]
        filling = self._windows[place - self._n_filling : place]
        earlier = [label for window in filling for label in window.labels]
        return dataclasses.replace(
            sample,
            inputs={**sample.inputs, "memory": memory},
            key_labels=(*earlier[len(earlier) - memory.shape[2] :], *sample.labels),
        )

    def _memory_before(self, place: int) -> torch.Tensor:
        if place < self._before:
            self._before, self._memory = 0, None
        weight = next(self._model.parameters())
        with torch.no_grad():
            for window in self._windows[self._before : place]:
                inputs = window.inputs_on(weight.device, weight.dtype)
                self._memory = self._model(**inputs, memory=self._memory).memory
        self._before = place
        assert self._memory is not None  # at least one window fills it
        return self._memory
