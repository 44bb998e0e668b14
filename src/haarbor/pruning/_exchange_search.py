"""Heads that go exchanged for heads that stay, as long as a measured loss falls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from haarbor.array_types import BoolArray, FloatArray, IntArray, frozen
from haarbor.errors import DataError, SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import require_real_number, require_whole_number
from haarbor.pruning._budgets import Budget, head_groups
from haarbor.pruning._exchange_effects import exchange_effects
from haarbor.pruning._layer_moments import LayerMoments
from haarbor.pruning._leftover_gradients import drawn_labels
from haarbor.pruning._metrics import Measure, Measurement, Metric, measure, metric_named
from haarbor.pruning._model_batches import ModelBatch
from haarbor.pruning._network_heads import HeadChoice, NetworkHeads
from haarbor.pruning._refitted_network import RefittedNetwork

__all__ = ["N_PASSES", "ExchangeSearch", "exchange_search"]

N_PASSES = 50
"""Passes over the data that are worth it at most."""
_PATIENCE = 24
"""Exchanges that may fail, one after the other, before the search ends."""
_N_CHEAPEST = 16
"""Heads on either side that exchanges are made of."""
_LEAST_TO_PART = 16
"""Batches from which on an exchange is tried on some of them first."""
_PASSES_OF_GRADIENT = 4
"""What a pass forward and two back cost, in passes forward."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ExchangeSearch:
    """A choice of heads that no exchange of two that was tried improves."""

    removed: BoolArray
    """Shape (n_heads,)."""
    start: str
    """Name of the choice that it began from."""
    values: FloatArray
    """Mean of the loss at the start and after every exchange that was kept."""
    n_tried: int
    """Choices of heads that were measured, the starts left out."""

    def __repr__(self) -> str:
        return (
            f"ExchangeSearch({int(self.removed.sum())} of {self.removed.size} heads, from {self.start!r}, "
            f"{self.values[0]:.4g} to {self.values[-1]:.4g} by {self.values.size - 1} of {self.n_tried})"
        )


def exchange_search(
    model: torch.nn.Module,
    heads: NetworkHeads,
    moments: Sequence[LayerMoments],
    batches: Sequence[ModelBatch],
    loss: str | Metric | Measure,
    starts: Mapping[str, HeadChoice],
    *,
    prefer: str | None = None,
    n_errors: float = 1.0,
    drawn: bool = False,
    within: Budget = "network",
    n_passes: int = N_PASSES,
    on_progress: OnProgress | None = None,
) -> ExchangeSearch:
    r"""Exchange heads that go for heads that stay while a measured loss falls.

    Parameters
    ----------
    model : torch.nn.Module
        In eval mode.
    heads : NetworkHeads
    moments : sequence of LayerMoments
        For the refits: the network is measured with the layers refitted side by side.
    batches : sequence of ModelBatch
        To measure on; calibration data, as they are given to the loss.
    loss : str, Metric or function
        What is to fall: the distance from the whole network's answers
        (:func:`haarbor.pruning.answer_distance`), or the loss itself.
    starts : mapping of name to head choice
        Choices of as many heads each, by scores say. The search begins from the one of least loss.
    prefer : str, optional
        Name of the start to begin from unless the loss of another is clearly lower.
    n_errors : float, default 1.0
        Clearly lower is by more than so many standard errors of the difference over the batches. So much must
        the loss fall for an exchange to be kept.
    drawn : bool, default False
        Whether second derivatives come from labels drawn from the network's answers, which need scores for
        classes or tokens; if not, they come from the loss.
    within : {"network", "layer", "uniform"}, default "network"
        Which heads can stand for each other: all of them, those of a layer, or those that share keys and
        values.
    n_passes : int, default 50
        Work that is done at most, in passes over all batches.
    on_progress : function of (step, done, total), optional
        Told of the step "searching" after every choice that was measured; it counts passes, one for each
        start among them.

    Returns
    -------
    ExchangeSearch

    Raises
    ------
    SettingError
        If there is no start, the starts differ in their number of heads, or the preferred one is none of
        them.
    DataError
        If there are no batches, or the moments are not those of the layers.
    PruningError
        If the loss has no gradient.

    See Also
    --------
    haarbor.pruning.answer_distance : The distance that is lowered.
    haarbor.pruning.pruning_study : Has this search as the scores "searched" and "searched-loss".

    Notes
    -----
    At the current choice one pass forward and two back foretell what the return of each head that is gone and
    the removal of each that stays would do (:func:`haarbor.pruning._exchange_effects.exchange_effects`).
    Exchanges are tried from the most promising one on: several at once first, then single ones, on a quarter
    of the batches and, where that does not speak against them, on the others. One is kept if the loss falls
    by more than `n_errors` standard errors of its change over the batches. What was measured corrects what is
    foretold of both heads. The search ends when 24 single exchanges in a row have failed.

    Of many choices the one of least loss on some batches is in part the luckiest. Answers hardly differ from
    sample to sample in how far they are from those before, and one standard error is enough; a loss with
    labels does, and there `prefer` and more errors keep what luck would give away.

    Exchanges by a measured loss are what EvoPress (Sieberling et al. 2024, arXiv 2410.14649) makes for the
    compression of layers, at random, in generations, and on few data first; those of OSSCAR (Meng et al.
    2024, arXiv 2403.12983) go by the error of each layer. Ours are measured with the refit, and foretold by
    its derivatives.
    """
    require_whole_number("n_passes", n_passes, least=1)
    require_real_number("n_errors", n_errors, least=0)
    chosen = metric_named(loss)
    if not batches:
        raise DataError("there must be batches to search on; found none. Pass some data.")
    if len(moments) != len(heads):
        raise DataError(
            f"there must be moments of each of the {len(heads)} layers; found {len(moments)}. Pass those of "
            "this network."
        )
    masks = {name: heads.mask(choice) for name, choice in starts.items()}
    if len({int(mask.sum()) for mask in masks.values()}) != 1:
        raise SettingError(
            "a search must begin from choices of one number of heads; found "
            f"{sorted({int(mask.sum()) for mask in masks.values()}) or 'none'}. Pass masks that remove as "
            "many."
        )
    if prefer is not None and prefer not in masks:
        raise SettingError(
            f"the start to prefer must be one of {', '.join(map(repr, masks))}; found {prefer!r}. "
            "Name one of these."
        )
    search = _Search(
        RefittedNetwork(model, heads, moments), batches, chosen, drawn_labels(chosen, 0) if drawn else None,
        head_groups(heads, within), n_errors, n_passes, on_progress,
    )  # fmt: skip
    return search.from_best(masks, prefer)


class _Search:
    """State of a search."""

    def __init__(
        self,
        network: RefittedNetwork,
        batches: Sequence[ModelBatch],
        loss: Metric,
        drawn: Metric | None,
        groups: IntArray,
        n_errors: float,
        n_passes: int,
        on_progress: OnProgress | None,
    ) -> None:
        self._network, self._batches, self._loss, self._drawn = network, list(batches), loss, drawn
        self._groups, self._n_errors = groups, n_errors
        self._n_passes, self._on_progress = n_passes, on_progress
        self._sign = -1.0 if loss.higher_is_better else 1.0
        self._spent, self._n_tried = 0.0, 0
        self._n_starts = 0
        self._seen: set[bytes] = set()

    def from_best(self, starts: Mapping[str, BoolArray], prefer: str | None) -> ExchangeSearch:
        # What the starts cost is not taken from the search: there may be many.
        different = {mask.tobytes(): mask for mask in starts.values()}
        self._n_starts = len(different)
        measured = {key: self._measured(mask, slice(None)) for key, mask in different.items()}
        self._seen.update(measured)
        of_start = {name: measured[mask.tobytes()] for name, mask in starts.items()}
        if prefer is not None:
            preferred, places = of_start[prefer], np.arange(len(self._batches))
            of_start = {
                name: own
                for name, own in of_start.items()
                if name == prefer or self._is_clear(*self._change(own, preferred, places))
            }
        # What is no number is the worst of all.
        losses = {name: self._sign * own.value for name, own in of_start.items()}
        start = min(losses, key=lambda name: np.inf if np.isnan(losses[name]) else losses[name])
        now, found = starts[start], of_start[start]
        values = [found.value]
        corrections = np.zeros(now.size)
        while self._going():
            step = self._better(now, found, corrections)
            if step is None:
                break
            now, found = step
            values.append(found.value)
            # What was measured at one choice says half as much about the next.
            corrections /= 2
        self._tell(self._most)
        return ExchangeSearch(
            removed=frozen(now.copy()), start=start, values=frozen(np.array(values)), n_tried=self._n_tried
        )

    def _better(
        self, now: BoolArray, found: Measurement, corrections: FloatArray
    ) -> tuple[BoolArray, Measurement] | None:
        """The first exchange that lowers the loss, or None; `corrections` are added to."""
        effects = exchange_effects(self._network, now, self._batches, self._loss, drawn=self._drawn)
        self._spend(_PASSES_OF_GRADIENT)
        for several in self._several(now, effects + corrections):
            change, measurement = self._tried(several, found)
            if measurement is not None:
                return several, measurement
            if not self._going():
                return None
        for _failure in range(_PATIENCE):
            pair = self._next_pair(now, effects + corrections)
            if pair is None:
                return None
            other = now.copy()
            other[pair] = ~other[pair]
            change, measurement = self._tried(other, found)
            if measurement is not None:
                return other, measurement
            corrections[pair] += (change - (effects + corrections)[pair].sum()) / 2
            if not self._going():
                return None
        return None

    def _several(self, now: BoolArray, effects: FloatArray) -> Iterator[BoolArray]:
        """Many exchanges at once, all that are foretold to help, then half as many, down to two."""
        if (self._groups != self._groups[0]).any():
            return
        back, out = self._ordered(now, effects), self._ordered(~now, effects)
        n_pairs = min(back.size, out.size)
        many = int((effects[back[:n_pairs]] + effects[out[:n_pairs]] < 0).sum())
        while many >= 2:
            other = now.copy()
            other[back[:many]], other[out[:many]] = False, True
            if self._is_new(other):
                yield other
            many //= 2

    def _next_pair(self, now: BoolArray, effects: FloatArray) -> list[int] | None:
        """The most promising exchange that was not tried: a head that returns and one that goes."""
        pairs = [
            (float(effects[back] + effects[out]), int(back), int(out))
            for group in np.unique(self._groups)
            for back in self._ordered(now & (self._groups == group), effects)[:_N_CHEAPEST]
            for out in self._ordered(~now & (self._groups == group), effects)[:_N_CHEAPEST]
        ]
        for _effect, back, out in sorted(pairs):
            other = now.copy()
            other[back], other[out] = False, True
            if self._is_new(other):
                return [back, out]
        return None

    def _tried(self, mask: BoolArray, found: Measurement) -> tuple[float, Measurement | None]:
        """How much the loss changes by another choice; its measurement only if it falls."""
        self._seen.add(mask.tobytes())
        self._n_tried += 1
        n_batches = len(self._batches)
        if n_batches < _LEAST_TO_PART:
            measured = self._measured(mask, slice(None))
        else:
            some = np.arange(0, n_batches, 4)
            part = self._measured(mask, some)
            change, error = self._change(part, found, some)
            if change > error / 2:
                return change, None
            others = np.setdiff1d(np.arange(n_batches), some)
            rest = self._measured(mask, others)
            order = np.argsort(np.concatenate([some, others]))
            measured = Measurement(
                totals=frozen(np.concatenate([part.totals, rest.totals])[order]),
                counts=frozen(np.concatenate([part.counts, rest.counts])[order]),
            )
        change, error = self._change(measured, found, np.arange(n_batches))
        return change, measured if self._is_clear(change, error) else None

    def _is_clear(self, change: float, error: float) -> bool:
        """Whether the loss is lower by more than chance would make it."""
        return change < -self._n_errors * error

    def _change(self, measured: Measurement, found: Measurement, places: IntArray) -> tuple[float, float]:
        """By how much the mean loss over these batches differs, and the standard error of that."""
        weights = measured.counts / measured.counts.sum()
        each = self._sign * (measured.each - found.each[places])
        mean = float(weights @ each)
        n = each.size
        return mean, float(np.sqrt(np.square((each - mean) * weights).sum() * n / max(n - 1, 1)))

    def _measured(self, mask: BoolArray, places: IntArray | slice) -> Measurement:
        chosen = self._batches[places] if isinstance(places, slice) else [self._batches[k] for k in places]
        with self._network.without(mask):
            measured = measure(self._network.model, chosen, self._loss)
        self._spend(len(chosen) / len(self._batches))
        return measured

    def _is_new(self, mask: BoolArray) -> bool:
        if mask.tobytes() in self._seen:
            return False
        heads = self._network.heads
        return all(
            gone.size < layer.n_heads for gone, layer in zip(heads.by_layer(mask), heads.layers, strict=True)
        )

    @staticmethod
    def _ordered(where: BoolArray, effects: FloatArray) -> IntArray:
        """Heads of a kind, those of least effect first."""
        places = np.flatnonzero(where)
        found: IntArray = places[np.argsort(effects[places], kind="stable")]
        return found

    @property
    def _most(self) -> int:
        return self._n_starts + self._n_passes

    def _going(self) -> bool:
        return self._spent < self._most

    def _spend(self, n_passes: float) -> None:
        self._spent += n_passes
        self._tell(round(self._spent))

    def _tell(self, done: int) -> None:
        if self._on_progress is not None:
            self._on_progress("searching", min(done, self._most), self._most)
