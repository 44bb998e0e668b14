"""What the return of each head that is gone, or the removal of each that stays, would do to a loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.array_types import BoolArray, FloatArray
from haarbor.pruning._gate_gradients import Gates, row_gradients
from haarbor.pruning._metrics import Metric
from haarbor.pruning._model_batches import ModelBatch
from haarbor.pruning._refitted_network import RefittedNetwork

__all__ = ["exchange_effects"]


def exchange_effects(
    network: RefittedNetwork,
    removed: BoolArray,
    batches: Sequence[ModelBatch],
    loss: Metric,
    *,
    drawn: Metric | None = None,
) -> FloatArray:
    r"""Change of a loss by each head that returns or goes, to second order.

    Parameters
    ----------
    network : RefittedNetwork
    removed : ndarray of bool, shape (n_heads,)
        Heads that are gone.
    batches : sequence of ModelBatch
    loss : Metric
        Its gradient is taken.
    drawn : Metric, optional
        Loss on labels drawn from the network's own answers; its squared derivatives stand for second ones,
        or those of `loss` if it is not given.

    Returns
    -------
    ndarray, shape (n_heads,)
        Of the mean loss; below 0 where it is foretold to fall.

    Notes
    -----
    With :math:`a_h` the derivative of the mean loss by a factor in front of what head :math:`h` gives alone
    (:meth:`LayerRefits.single_heads`), a return is foretold to change it by
    :math:`a_h + F_h / 2` and a removal by :math:`-a_h + F_h / 2`, where :math:`F_h` is the Fisher
    information in that direction (see :func:`haarbor.pruning._leftover_gradients.leftover_gradients`).
    """
    gates = Gates(
        sizes=[layer.n_heads for layer in network.heads.layers],
        gated=lambda factors: network.gated(removed, factors),
        share=lambda count, n_rows: float(np.sqrt(n_rows / count)),
    )
    metrics = [loss] if drawn is None else [loss, drawn]
    found = row_gradients(network.model, batches, metrics, gates)
    # A row's derivative is divided by the root of its answers; times that root, it is that of their sum.
    answers = np.concatenate([batch.answers_by_row(0) for batch in found])
    by_row = np.concatenate([batch.by_row for batch in found], axis=1)
    first = (by_row[0] * np.sqrt(answers)[:, None]).sum(axis=0) / answers.sum()
    squares = np.square(by_row[-1]).mean(axis=0)
    effects: FloatArray = np.where(removed, 1.0, -1.0) * loss.graded_sign * first + squares / 2
    return effects
