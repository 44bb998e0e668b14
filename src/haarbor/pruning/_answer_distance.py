"""How far a network's answers are from those that it gave before: a metric without labels."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from haarbor.errors import DataError
from haarbor.options import require_whole_number
from haarbor.pruning._joined_batches import joined_batches
from haarbor.pruning._metrics import Metric, logits_of
from haarbor.pruning._model_batches import ModelBatch, forward
from haarbor.pruning._output_change import counted_outputs, output_of, relative_entropies

__all__ = ["N_ANSWERS", "answer_distance"]

N_ANSWERS = 4096
"""Answers that are kept; a large vocabulary makes each of them a megabyte."""


def answer_distance(
    model: torch.nn.Module, batches: Sequence[ModelBatch], metric: Metric, *, n_answers: int = N_ANSWERS
) -> Metric | None:
    """Relative entropy from the answers that a network gives now to those that it will give.

    Parameters
    ----------
    model : torch.nn.Module
        As it is to be compared with later.
    batches : sequence of ModelBatch
        The only ones that the metric can be asked of, and these very objects.
    metric : Metric
        It says what of a batch the model is shown, and which answers count.
    n_answers : int, default 4096
        Answers that are compared at most: as many of each batch, spread evenly over it, at least one.

    Returns
    -------
    Metric or None
        None for a network that answers with vectors: these have no entropy.

    Raises
    ------
    SettingError
        If no answer is to be compared.

    See Also
    --------
    haarbor.pruning.exchange_search : Lowers this distance by exchanging heads.
    """
    require_whole_number("n_answers", n_answers, least=1)
    shown = [metric.shown(batch) for batch in batches]
    # The batch is kept beside its answers, so that no other object can get its number.
    known: dict[int, tuple[ModelBatch, torch.Tensor, torch.Tensor]] = {}
    with torch.no_grad():
        if output_of(forward(model, shown[0]))[1]:
            return None
        for group in joined_batches(model, shown):
            logits = logits_of(forward(model, group.batch))
            for place, rows in group.parts():
                chosen = _spread(counted_outputs(shown[place], logits[rows]), max(1, n_answers // len(shown)))
                known[id(batches[place])] = (batches[place], chosen, logits[rows][chosen])

    def of_answer(logits: torch.Tensor, batch: ModelBatch) -> tuple[torch.Tensor, float]:
        if id(batch) not in known:
            raise DataError(
                "the distance of answers must be asked of the batches that it was made with, because only "
                "their answers are known; found another. Pass those very batches, or make a distance with "
                "these."
            )
        _, chosen, before = known[id(batch)]
        return relative_entropies(before, logits[chosen]).sum(), float(len(before))

    def asked(network: torch.nn.Module, batch: ModelBatch) -> tuple[torch.Tensor, float]:
        return of_answer(logits_of(forward(network, metric.shown(batch))), batch)

    return Metric(
        "change of answers", asked, shown=metric.shown, of_answer=of_answer, graded_of_answer=of_answer
    )


def _spread(counted: torch.Tensor, n_most: int) -> torch.Tensor:
    """At most so many of the answers that count, evenly spaced."""
    places = counted.flatten().nonzero().squeeze(1)
    if len(places) > n_most:
        places = places[torch.arange(n_most, device=places.device) * len(places) // n_most]
    chosen = torch.zeros_like(counted)
    chosen.view(-1)[places] = True
    return chosen
