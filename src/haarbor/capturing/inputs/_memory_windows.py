"""Consecutive windows of a text, each with the network's memory of the windows before it."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch

from haarbor.capturing._model_forward import model_forward
from haarbor.capturing.inputs._samples import Sample, Samples
from haarbor.errors import CaptureError
from haarbor.zoo import TransformerXL, TransformerXLOutput

__all__ = ["memory_window_samples", "windows_to_fill"]


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

    See Also
    --------
    haarbor.capturing.inputs.memory_window_samples : Windows with memory.
    """
    if not isinstance(model, TransformerXL) or model.config.memory_length == 0:
        raise CaptureError(
            "the model must have a memory of earlier segments, as a Transformer-XL of haarbor.zoo has; "
            f"{type(model).__name__} has none. Capture it without one."
        )
    return math.ceil(model.config.memory_length / n_tokens)


def memory_window_samples(windows: Samples, model: TransformerXL) -> Samples:
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

    See Also
    --------
    haarbor.capturing.inputs.text_samples : Samples of a text.
    """
    first = windows[0]
    n_filling = windows_to_fill(model, len(first.labels))
    if len(windows) <= n_filling:
        raise CaptureError(
            f"a memory of {model.config.memory_length} tokens must be filled first; the text holds "
            f"{len(windows)} windows, of which that takes {n_filling}. Give a longer text."
        )
    return _Remembered(windows, model, n_filling, first)


class _Remembered(Samples):
    def __init__(self, windows: Samples, model: TransformerXL, n_filling: int, first: Sample) -> None:
        self._windows, self._model, self._n_filling = windows, model, n_filling
        # The memory before window number `_before`; one forward pass gives the memory before the next.
        self._before = 0
        self._memory: torch.Tensor | None = None
        # The most recent windows: their labels are those of the remembered tokens.
        self._made = {0: first}

    @property
    def description(self) -> str:
        length = self._model.config.memory_length
        return f"{self._windows.description}; each with the {length} tokens before it in memory"

    @property
    def content_digest(self) -> str:
        return self._windows.content_digest

    def __len__(self) -> int:
        return len(self._windows) - self._n_filling

    def sample(self, index: int) -> Sample:
        """Window after `index` others, not counting those that fill the memory."""
        place = index + self._n_filling
        memory = self._memory_before(place)
        sample = self._window(place)
        filling = [self._window(earlier) for earlier in range(place - self._n_filling, place)]
        earlier = [label for window in filling for label in window.labels]
        return dataclasses.replace(
            sample,
            inputs={**sample.inputs, "memory": memory},
            key_labels=(*earlier[len(earlier) - memory.shape[2] :], *sample.labels),
        )

    def take_output(self, index: int, output: Any) -> None:
        """Keep the memory that the model has after a window, so that it does not read it again."""
        if isinstance(output, TransformerXLOutput):
            self._before, self._memory = index + self._n_filling + 1, output.memory

    def _window(self, place: int) -> Sample:
        if place not in self._made:
            self._made[place] = self._windows[place]
            while len(self._made) > self._n_filling + 1:
                self._made.pop(next(iter(self._made)))
        return self._made[place]

    def _memory_before(self, place: int) -> torch.Tensor:
        # The memory of a layer was computed from the memory of the layer below, which reaches further back
        # by the same number of windows. So with n layers, the memory depends on n times the windows that
        # fill it, and on nothing before those.
        beginning = max(0, place - self._n_filling * self._model.config.n_layers)
        if not beginning <= self._before <= place:
            self._before, self._memory = beginning, None
        with torch.no_grad():
            for earlier in range(self._before, place):
                remembered = {} if self._memory is None else {"memory": self._memory}
                inputs = {**self._window(earlier).inputs, **remembered}
                self._memory = model_forward(self._model, inputs).memory
        self._before = place
        assert self._memory is not None  # at least one window fills it
        return self._memory
