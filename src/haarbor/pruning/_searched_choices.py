"""Choices of heads that begin from those of scores and are searched for on the calibration data."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from haarbor.array_types import BoolArray
from haarbor.errors import SettingError
from haarbor.on_progress import OnProgress
from haarbor.pruning._answer_distance import answer_distance
from haarbor.pruning._budgets import Budget
from haarbor.pruning._calibration_pass import CalibrationPass
from haarbor.pruning._exchange_search import N_PASSES, ExchangeSearch, exchange_search
from haarbor.pruning._metrics import Metric

__all__ = ["SEARCHED", "SearchedChoices", "require_starts"]

SEARCHED = {
    "searched": "heads exchanged until the answers come no nearer to the whole network's, from the best of "
    "the other scores on",
    "searched-loss": "the same, until the loss on the calibration data falls no further",
}
"""Meaning of each by name. They stand beside scores, but give no number per head: each share of heads is
searched for by itself."""


def require_starts(names: list[str]) -> None:
    """Raise if there is something to search and nothing to begin from.

    Raises
    ------
    SettingError
        If no score is named beside those that are searched.
    """
    wanted = [name for name in names if name in SEARCHED]
    if wanted and not [name for name in names if name not in SEARCHED and name != "random"]:
        raise SettingError(
            f"{wanted[0]!r} begins from what other scores choose; found none. Name another score as well, "
            "such as 'leftover-fisher'."
        )


class SearchedChoices:
    """Searches on the calibration data of a pass.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    calibration : CalibrationPass
    within : {"network", "layer", "uniform"}, default "network"
    n_passes : int, default 50
        Work of each search.
    on_progress : function of (step, done, total), optional
        Told of the step "searching".
    """

    def __init__(
        self,
        model: torch.nn.Module,
        calibration: CalibrationPass,
        *,
        within: Budget = "network",
        n_passes: int = N_PASSES,
        on_progress: OnProgress | None = None,
    ) -> None:
        self._model, self._calibration = model, calibration
        self._within, self._n_passes, self._on_progress = within, n_passes, on_progress
        self._loss = calibration.metric
        # Answers that are vectors have no entropy: there both searches go by the loss.
        self._distance: Metric | None = answer_distance(model, calibration.given, self._loss)

    def search(self, name: str, starts: Mapping[str, BoolArray]) -> ExchangeSearch:
        """One of the searches by its name, from choices of as many heads each."""
        by_loss = name == "searched-loss" or self._distance is None
        loss = self._loss if by_loss or self._distance is None else self._distance
        return exchange_search(
            self._model,
            self._calibration.heads,
            self._calibration.moments,
            self._calibration.given,
            loss,
            starts,
            drawn=self._distance is not None,
            within=self._within,
            n_passes=self._n_passes,
            on_progress=self._on_progress,
        )
