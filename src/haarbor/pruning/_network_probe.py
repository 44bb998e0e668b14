"""A network's answers when a layer gives something else, for many such changes in few forward passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from haarbor.array_types import FloatArray
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._network_heads import NetworkHeads
from haarbor.pruning._output_change import counted_outputs, mean_output_changes, output_of
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["Change", "NetworkProbe"]

Change = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Function of the input and the output of a layer's projection for one sample; gives another output."""

_MOST_NUMBERS = 2**26
"""Most numbers in the answers of one forward pass."""


class NetworkProbe:
    """Runs a network with one row for each change of a layer.

    All changes of a layer are made in one forward pass: a batch of one row per change. Below the layer all
    rows are equal. Where the model allows it, the batch therefore starts with a single row and gets the
    others at that layer. Whether it does is tried out for every layer and shape of the inputs: with one
    more row, without a change, which must give the known answer. A change that is alone in its layer takes
    the only row.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    heads : NetworkHeads
    """

    def __init__(self, model: torch.nn.Module, heads: NetworkHeads) -> None:
        self._model, self._heads = model, heads
        self._grows: bool | None = None
        """Whether rows can be added to the batch inside the model; None until it was tried."""
        self._tried: set[object] = set()
        """Layers and shapes of inputs for which they can."""

    def mean_changes(
        self, row: ModelBatch, answer: torch.Tensor, changes: Sequence[tuple[int, Change]]
    ) -> FloatArray:
        """How far the answers to one sample change on average.

        Parameters
        ----------
        row : ModelBatch
            One sample.
        answer : tensor, shape (1, ...)
            Of the whole network.
        changes : sequence of (int, Change)
            Numbers of layers, and what they give instead.

        Returns
        -------
        ndarray, shape (n_changes,)
        """
        counted = counted_outputs(row, answer)
        found = np.zeros(len(changes))
        for number in sorted({number for number, _ in changes}):
            own = [place for place, (layer, _) in enumerate(changes) if layer == number]
            for places in _turns(own, answer.numel()):
                made = [changes[place][1] for place in places]
                answers, vectors = self._answers(number, made, row, answer)
                found[places] = mean_output_changes(answer[0], answers, counted[0], vectors=vectors)
        return found

    def _answers(
        self, number: int, changes: Sequence[Change], row: ModelBatch, answer: torch.Tensor
    ) -> tuple[torch.Tensor, bool]:
        if len(changes) == 1:
            return self._run(number, changes[0], row)

        def every(x: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
            return torch.cat([change(x[:1], output[:1]) for change in changes])

        def every_and_none(x: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
            return torch.cat([output[:1], every(x, output)])

        kind = number, row.sample_shapes
        if self._grows is not False:
            try:
                if kind in self._tried:
                    return self._run(number, every, row)
                answers, vectors = self._run(number, every_and_none, row)
                self._grows = _is_same(answers, answer, len(changes))
            except (RuntimeError, ValueError, IndexError):
                # Some models rely on the size of their first batch: those get all rows from the start.
                self._grows = False
            if self._grows:
                self._tried.add(kind)
                return answers[1:], vectors
        n_rows = len(changes)
        repeated = ModelBatch(
            inputs={name: value.expand(n_rows, *value.shape[1:]) for name, value in row.inputs.items()},
            labels=None,
        )
        return self._run(number, every, repeated)

    def _run(self, number: int, change: Change, row: ModelBatch) -> tuple[torch.Tensor, bool]:
        def changed(place: int, x: torch.Tensor, output: torch.Tensor) -> torch.Tensor | None:
            return change(x, output) if place == number else None

        with projection_hooks(self._model, self._heads, change_output=changed), torch.no_grad():
            return output_of(forward(self._model, row))


def _turns(places: list[int], n_numbers: int) -> Iterator[list[int]]:
    """Changes of a layer that are made at once."""
    size = max(1, _MOST_NUMBERS // max(n_numbers, 1) - 1)
    for begin in range(0, len(places), size):
        yield places[begin : begin + size]


def _is_same(answers: torch.Tensor, answer: torch.Tensor, n_changes: int) -> bool:
    """Whether there is a row for each change, and the first one is the answer without any."""
    if answers.shape != (n_changes + 1, *answer.shape[1:]):
        return False
    scale = float(answer.abs().max())
    return bool(torch.allclose(answers[:1], answer, rtol=0, atol=1e-3 * scale + 1e-6))
