"""How much a network's output changes without each head, measured by forward passes without gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.errors import DataError
from haarbor.on_progress import OnProgress
from haarbor.pruning._compensation import RIDGE, ridge_strength
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._network_heads import LayerHeads, NetworkHeads
from haarbor.pruning._output_change import counted_outputs, mean_output_changes, output_of
from haarbor.pruning._projection_hooks import projection_hooks

__all__ = ["HeadResponses", "head_responses", "spread_samples", "stand_ins"]

N_ANSWERS = 512
"""Number of answers (tokens of a language model, images of a classifier) that are enough."""
N_SAMPLES = 64
"""Number of samples that are enough, however few answers they give."""
_MOST_NUMBERS = 2**26
"""Most numbers in the outputs of all heads that are probed in one forward pass."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeadResponses:
    """Change of a network's answers when one head is removed and its layer refitted.

    An answer is one output that counts: the scores at one token of a text, or for one image.
    """

    values: FloatArray
    """Mean over the answers, shape (n_heads,)."""
    by_sample: FloatArray
    """Mean over the answers to each sample, shape (n_samples, n_heads)."""
    counts: IntArray
    """Number of answers per sample, shape (n_samples,)."""

    @property
    def n_answers(self) -> int:
        """Number of answers over all samples."""
        return int(self.counts.sum())

    def over(self, samples: slice) -> HeadResponses:
        """The responses averaged over some of the samples; over all of them if `samples` selects none."""
        counts = self.counts[samples]
        if not counts.size:
            return self
        by_sample = self.by_sample[samples]
        return HeadResponses(
            values=frozen(np.average(by_sample, axis=0, weights=counts)), by_sample=by_sample, counts=counts
        )

    def __repr__(self) -> str:
        return f"HeadResponses({self.values.size} heads, {self.n_answers} answers)"


def head_responses(
    model: torch.nn.Module,
    heads: NetworkHeads,
    moments: Sequence[LayerMoments],
    batches: Sequence[ModelBatch],
    *,
    n_answers: int = N_ANSWERS,
    on_progress: OnProgress | None = None,
) -> HeadResponses:
    r"""How much the answers of a network change without each of its heads.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    heads : NetworkHeads
    moments : sequence of LayerMoments
        To refit the other heads of the layer when one is removed, see :func:`haarbor.pruning.compensate`:
        what is measured is the loss that they cannot make up for.
    batches : sequence of ModelBatch
        As the model is shown them; samples are taken evenly from all of them.
    n_answers : int, default 512
        Answers that are enough; so are 64 samples, or a sixteenth of this number if that is more.
    on_progress : function of (step, done, total), optional
        Told after every sample, with the step "probing".

    Returns
    -------
    HeadResponses

    Raises
    ------
    DataError
        If no answer to any sample counts.

    See Also
    --------
    haarbor.pruning.head_damage : Damage of each head alone.
    haarbor.pruning.compensate : Refit what stays.

    Notes
    -----
    The change is the relative entropy :math:`\sum_c p_c \log(p_c / q_c)` from the whole network's
    answer :math:`p` to the answer :math:`q` without the head; for networks that answer with vectors,
    the square of the difference relative to that of the vector. No labels are used. Padding is left
    out, and so are answers that the batch does not count, such as those to tokens that were not hidden.

    All heads of a layer are probed in one forward pass: a batch of one row per removed head, and one row
    that keeps all heads. Below the layer all rows are equal. Where the model allows it, the batch therefore
    starts with a single row and gets the others at that layer. Whether it does is tried out: the row that
    keeps all heads must give the known answer. So a sample costs about half a forward pass per head.
    """
    rows = spread_samples([row for batch in batches for row in batch.rows()], model, n_answers)
    probe = _Probe(model, heads, moments)
    values = []
    counts = []
    for done, (row, answer) in enumerate(rows):
        changes, count = probe.changes(row, answer)
        values.append(changes)
        counts.append(count)
        if on_progress is not None:
            on_progress("probing", done + 1, len(rows))
    by_sample: FloatArray = np.stack(values)
    return HeadResponses(
        values=frozen(np.average(by_sample, axis=0, weights=counts)),
        by_sample=frozen(by_sample),
        counts=frozen(np.array(counts)),
    )


def spread_samples(
    rows: list[ModelBatch], model: torch.nn.Module, n_enough: int
) -> list[tuple[ModelBatch, torch.Tensor]]:
    """Samples spread evenly over all of them, with the network's own answers, until these are enough."""
    # Steps of the golden ratio: wherever the walk stops, the samples so far are spread evenly.
    step = max(1, round(len(rows) * (np.sqrt(5) - 1) / 2))
    while np.gcd(step, len(rows)) != 1:
        step += 1
    found: list[tuple[ModelBatch, torch.Tensor]] = []
    n_answers = 0
    for place in range(len(rows)):
        if n_answers >= n_enough or len(found) >= max(N_SAMPLES, n_enough // 16):
            break
        row = rows[place * step % len(rows)]
        with torch.no_grad():
            answer, _ = output_of(forward(model, row))
        n_counted = int(counted_outputs(row, answer).sum())
        if n_counted:
            found.append((row, answer))
            n_answers += n_counted
    if not found:
        raise DataError(
            "the calibration data must hold answers that count; found none."
            " Pass inputs that are not all padding."
        )
    return found


def stand_ins(moments: LayerMoments, layer: LayerHeads, *, ridge: float = RIDGE) -> FloatArray:
    r"""Which part of each head's output the other heads of its layer cannot replace, as a linear map.

    Parameters
    ----------
    moments : LayerMoments
    layer : LayerHeads
    ridge : float, default 0.1

    Returns
    -------
    ndarray, shape (width, width)
        The rows :math:`S_h` of head :math:`h` give the part of its output that the others cannot replace.

    Notes
    -----
    With :math:`P = (C + \lambda)^{-1}` and :math:`S_h = P_{hh}^{-1} P_{h,:}`, the layer without head
    :math:`h`, the others refitted as by :func:`haarbor.pruning._compensation.fitted_projection`, has the
    weights :math:`W - W_h S_h`, and gives :math:`W_h S_h (x - \bar x)` less than the whole one. One
    inverse serves all heads, and no weights need to be kept for each.
    """
    covariance = moments.covariance
    strength = ridge_strength(covariance, ridge)
    # A layer whose heads give nothing has nothing to refit.
    inverse = np.linalg.inv(covariance + max(strength, np.finfo(np.float64).tiny) * np.eye(layer.width))
    parts = [layer.channels(head) for head in range(layer.n_heads)]
    return np.concatenate([np.linalg.solve(inverse[part, part], inverse[part, :]) for part in parts])


class _Probe:
    """Runs a model with one row for each removed head."""

    def __init__(self, model: torch.nn.Module, heads: NetworkHeads, moments: Sequence[LayerMoments]) -> None:
        self._model, self._heads = model, heads
        weight = next(model.parameters(), torch.zeros(1))
        self._layers = [
            tuple(
                torch.tensor(array).to(weight)
                for array in (moment.weight, stand_ins(moment, layer), moment.mean)
            )
            for moment, layer in zip(moments, heads.layers, strict=True)
        ]
        self._grows: bool | None = None
        """Whether rows can be added to the batch inside the model; None until it was tried."""

    def changes(self, row: ModelBatch, answer: torch.Tensor) -> tuple[FloatArray, int]:
        """Mean change of one sample's answers without each head, and how many answers there are."""
        counted = counted_outputs(row, answer)
        found: list[FloatArray] = []
        for number, layer in enumerate(self._heads.layers):
            for probed in _turns(layer.n_heads, answer.numel()):
                answers, vectors = self._answers(number, probed, row, answer)
                found.append(mean_output_changes(answer[0], answers, counted[0], vectors=vectors))
        return np.concatenate(found), int(counted.sum())

    def _answers(
        self, number: int, probed: IntArray, row: ModelBatch, answer: torch.Tensor
    ) -> tuple[torch.Tensor, bool]:
        if self._grows is not False:
            try:
                answers, vectors = self._run(number, probed, row)
                self._grows = _is_same(answers, answer, probed.size)
            except (RuntimeError, ValueError, IndexError):
                # Some models rely on the size of their first batch: those get all rows from the start.
                self._grows = False
            if self._grows:
                return answers[1:], vectors
        repeated = ModelBatch(
            inputs={
                name: value.expand(probed.size + 1, *value.shape[1:]) for name, value in row.inputs.items()
            },
            labels=None,
        )
        answers, vectors = self._run(number, probed, repeated)
        return answers[1:], vectors

    def _run(self, number: int, probed: IntArray, row: ModelBatch) -> tuple[torch.Tensor, bool]:
        weight, stand_in, mean = self._layers[number]
        layer = self._heads.layers[number]

        def without_each(place: int, x: torch.Tensor, output: torch.Tensor) -> torch.Tensor | None:
            if place != number:
                return None
            centred = x[:1] - mean
            rows = [output[:1]]
            for head in probed.tolist():
                part = layer.channels(head)
                rows.append(output[:1] - centred @ stand_in[part].T @ weight[:, part].T)
            return torch.cat(rows)

        with projection_hooks(self._model, self._heads, change_output=without_each), torch.no_grad():
            return output_of(forward(self._model, row))


def _turns(n_heads: int, n_numbers: int) -> Iterator[IntArray]:
    """Heads of a layer that are probed at once."""
    size = max(1, _MOST_NUMBERS // max(n_numbers, 1) - 1)
    for begin in range(0, n_heads, size):
        yield np.arange(begin, min(begin + size, n_heads))


def _is_same(answers: torch.Tensor, answer: torch.Tensor, n_heads: int) -> bool:
    """Whether there is a row for each head, and the first one is the answer with all heads."""
    if answers.shape != (n_heads + 1, *answer.shape[1:]):
        return False
    scale = float(answer.abs().max())
    return bool(torch.allclose(answers[:1], answer, rtol=0, atol=1e-3 * scale + 1e-6))
