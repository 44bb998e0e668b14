"""How much a network's output changes without each head, measured by forward passes without gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.on_progress import OnProgress
from haarbor.pruning._compensation import RIDGE, ridge_strength
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._model_batches import ModelBatch
from haarbor.pruning._network_heads import LayerHeads, NetworkHeads
from haarbor.pruning._network_probe import Change
from haarbor.pruning._probed_changes import probed_changes

__all__ = ["N_ANSWERS", "HeadResponses", "head_changes", "head_responses", "stand_ins"]

N_ANSWERS = 512
"""Number of answers (tokens of a language model, images of a classifier) that are enough."""


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
        return HeadResponses.of_samples(self.by_sample[samples], counts)

    @staticmethod
    def of_samples(by_sample: FloatArray, counts: IntArray) -> HeadResponses:
        """The responses by their means over the answers to each sample, and the numbers of these."""
        values = frozen(np.average(by_sample, axis=0, weights=counts))
        return HeadResponses(values=values, by_sample=by_sample, counts=counts)

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

    All heads of a layer are probed in one forward pass, with a row for each of them, see
    :class:`haarbor.pruning._network_probe.NetworkProbe`. Below its layer a head needs no row where the model
    allows that, so a sample costs about half a forward pass per head.
    """
    changes = head_changes(model, heads, moments)
    ((by_sample, counts),) = probed_changes(
        model, heads, batches, [(changes, n_answers)], on_progress=on_progress
    )
    return HeadResponses.of_samples(by_sample, counts)


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


def head_changes(
    model: torch.nn.Module, heads: NetworkHeads, moments: Sequence[LayerMoments]
) -> list[tuple[int, Change]]:
    """What the layer of each head gives without it, the others refitted."""
    weight = next(model.parameters(), torch.zeros(1))
    found: list[tuple[int, Change]] = []
    for number, (moment, layer) in enumerate(zip(moments, heads.layers, strict=True)):
        projection, stand_in, mean = (
            torch.tensor(array).to(weight) for array in (moment.weight, stand_ins(moment, layer), moment.mean)
        )
        parts = [layer.channels(head) for head in range(layer.n_heads)]
        found.extend((number, _without(projection, stand_in, mean, part)) for part in parts)
    return found


def _without(weight: torch.Tensor, stand_in: torch.Tensor, mean: torch.Tensor, part: slice) -> Change:
    def change(x: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return output - (x - mean) @ stand_in[part].T @ weight[:, part].T

    return change
