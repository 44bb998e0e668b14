"""Choices of heads that begin from those of scores and are searched for on the calibration data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    "searched-loss": "the same, and then where the loss on the calibration data clearly falls",
}
"""Meaning of each by name. They stand beside scores, but give no number per head: each share of heads is
searched for by itself."""
_CLEAR = 3.0
"""Standard errors that a loss must fall by: of fifty choices one would be lower by two of them by chance."""


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
            "such as 'leftover-taylor'."
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

        self._known: dict[tuple[str, bytes], ExchangeSearch] = {}

    def search(self, name: str, starts: Mapping[str, BoolArray]) -> ExchangeSearch:
        """One of the searches by its name, from choices of as many heads each."""
        if self._distance is None:
            name = "searched-loss"
        # One is begun from the other, and both may be asked for; of vectors they are the same.
        key = (name, b"".join(mask.tobytes() for mask in starts.values()))
        if key not in self._known:
            self._known[key] = self._new(name, starts)
        return self._known[key]

    def _new(self, name: str, starts: Mapping[str, BoolArray]) -> ExchangeSearch:
        if self._distance is None:
            return self._searched(self._loss, starts, n_errors=_CLEAR)
        if name == "searched":
            return self._searched(self._distance, starts)
        by_answers = {"searched": self.search("searched", starts).removed}
        return self._searched(self._loss, {**by_answers, **starts}, prefer="searched", n_errors=_CLEAR)

    def _searched(self, loss: Metric, starts: Mapping[str, BoolArray], **given: Any) -> ExchangeSearch:
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
            **given,
        )
