"""Checkpoints of one training, in order: when trees, entropies, types of heads and residuals appear."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from haarbor.analysis import asked_part, organize_run, question_before, valid_tokens
from haarbor.array_types import AnyArray, FloatArray, IntArray, frozen
from haarbor.collapse import RankCollapse, kept_collapse
from haarbor.compare._compare_runs import same_weights, told_names
from haarbor.compare._cross_coherence import coherence_sums
from haarbor.compare._cross_distances import cross_distances
from haarbor.compare._film_types import FilmTypes, film_types, told_types, type_counts
from haarbor.compare._head_tree_agreement import cophenetic_correlation
from haarbor.compare._shared_tokens import shared_tokens
from haarbor.errors import DataError, SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import (
    found_text,
    is_row,
    require_function,
    require_real_number,
    require_seed,
    require_whole_number,
)
from haarbor.store import Run, RunPart
from haarbor.stored_result import stored_result
from haarbor.trees import PartitionTree

__all__ = ["FILM", "SINK_SHARE", "TrainingFilm", "training_film"]

FILM = "training-film"
"""Name under which a film is kept in its last run."""
SINK_SHARE = 0.3
"""Mean attention to the first token from which on a head is called a sink."""
_AS_IT_IS = "as it is"
_TRAINED = "trained"


@stored_result("TrainingFilm", version=2, upgrades={1: lambda fields: {**fields, "types": ()}})
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainingFilm:
    """What changes from checkpoint to checkpoint; made by :func:`haarbor.training_film`.

    See Also
    --------
    haarbor.training_film : A network through its training.
    haarbor.plots.training_figure : Draws a training.
    """

    names: tuple[str, ...]
    steps: FloatArray
    """Step of each checkpoint, increasing, shape (n,)."""
    n_layers: int
    heads_per_layer: int
    batches: tuple[int, ...]
    entropies: FloatArray
    """Haar entropy of each head, normalised, mean over the batches, shape (n, n_heads)."""
    network_entropies: FloatArray
    """Haar entropy of the network, normalised, mean over the batches, shape (n,)."""
    sink_shares: FloatArray
    """Mean attention of all tokens but the first to the first, shape (n, n_heads); NaN of logits."""
    distances_to_last: FloatArray
    """Tree EMD of each head to the same head of the last checkpoint, over the mean distance of different
    heads there, shape (n, n_heads)."""
    tree_correlations: FloatArray
    """Cophenetic correlation of the head tree with the last one, shape (n,)."""
    structure: FloatArray
    """By how much the l1 norm of the Haar expansion is lower on the trees found than on random trees of
    queries and keys, as a share of the latter, shape (n,)."""
    residuals: FloatArray | None
    """Relative residual of the tokens after every layer (composite norm), shape (n, n_layers + 1); None
    where it was not given."""
    equal_weights: tuple[tuple[str, str], ...]
    """Checkpoints with the same weights under different names."""
    types: FilmTypes = ()
    """Type of each head at every checkpoint; () where the runs do not tell."""

    @property
    def sink_rates(self) -> FloatArray:
        """Share of heads that are sinks, shape (n,)."""
        rates: FloatArray = (self.sink_shares > SINK_SHARE).mean(axis=1)
        return rates

    def by_layer(self, name: str) -> FloatArray:
        """Mean over the heads of each layer of a figure that every head has, shape (n, n_layers)."""
        values: FloatArray = getattr(self, name)
        found: FloatArray = values.reshape(self.steps.size, self.n_layers, self.heads_per_layer).mean(axis=2)
        return found

    def trajectories(self) -> Mapping[str, FloatArray]:
        """One number per checkpoint for each thing that is followed."""
        found = {
            "distance to the last checkpoint": self.distances_to_last.mean(axis=1),
            "mean entropy of the heads": self.entropies.mean(axis=1),
            "entropy of the network": self.network_entropies,
            "spread of the entropies": self.entropies.std(axis=1),
            "largest first-token share": self.sink_shares.max(axis=1),
            "head tree": self.tree_correlations,
            "structure of the token trees": self.structure,
        }
        if self.residuals is not None:
            found["residual after the last layer"] = self.residuals[:, -1]
        return found

    def type_counts(self) -> Mapping[str, IntArray]:
        """Heads of each type at every checkpoint, shape (n,); {} where types are not known."""
        return type_counts(self.types)

    def half_way(self, name: str) -> float:
        """Step of the first checkpoint from which on a trajectory stays nearer to its end than its beginning.

        NaN where it ends where it began, or has no number at an end.
        """
        values = self.trajectories()[name]
        change = values[-1] - values[0]
        if not np.isfinite(change) or change == 0:
            return float("nan")
        past = (values - values[0]) / change > 0.5
        behind = np.flatnonzero(~past)
        return float(self.steps[behind[-1] + 1])

    def verdict(self) -> tuple[str, ...]:
        """What happened, in sentences."""
        told: list[str] = []
        order = sorted(
            ((self.half_way(name), name) for name in self.trajectories() if np.isfinite(self.half_way(name))),
        )
        if order:
            listed = ", ".join(f"{name} by step {step:g}" for step, name in order)
            told.append(f"More than half of the whole change has happened for good: {listed}.")
        if np.isfinite(self.sink_shares).all():
            told.append(self._sinks())
        if self.types:
            told += [sentence for sentence in (told_types(self.types, self.steps),) if sentence]
        for one, two in self.equal_weights:
            told.append(f"{one} and {two} have the same weights, although their names differ.")
        return tuple(told)

    def _sinks(self) -> str:
        places = np.flatnonzero(self.sink_rates > 0)
        if not places.size:
            return (
                f"No head gives the first token more than {SINK_SHARE:g} of its attention at any checkpoint."
            )
        if places[0] == 0:
            return (
                f"Heads with more than {SINK_SHARE:g} of their attention on the first token are there from "
                f"the first checkpoint on: {100 * self.sink_rates[0]:.0f} % of them then, "
                f"{100 * self.sink_rates[-1]:.0f} % at the end."
            )
        rate = f"{100 * self.sink_rates[-1]:.0f} %"
        return (
            f"The first head with more than {SINK_SHARE:g} of its attention on the first token is seen at "
            f"step {self.steps[places[0]]:g}; at the end {rate} of the heads are such."
        )

    def __repr__(self) -> str:
        return f"TrainingFilm({self.steps.size} checkpoints, steps {self.steps[0]:g} to {self.steps[-1]:g})"


def training_film(
    runs: Sequence[Run | RunPart],
    *,
    steps: Sequence[float] | None = None,
    collapses: Sequence[Any] | None = None,
    content: str | None = None,
    stream: str | None = None,
    n_batches: int = 4,
    seed: int = 0,
    keep: bool = True,
    on_progress: OnProgress | None = None,
) -> TrainingFilm:
    """Follow a network through its training, from runs of its checkpoints on the same data.

    Parameters
    ----------
    runs : sequence of Run or RunPart
        Two or more, in the order of the training. A run that is not organised yet is organised first, and
        diagnostics of its heads are made, from which they get their types.
    steps : sequence of float, optional
        Step of each checkpoint, increasing; by default the last number in the name of each model, as in
        "step-000128".
    collapses : sequence of RankCollapse, optional
        What :func:`haarbor.rank_collapse` gives of each checkpoint, for the residuals; by default what the
        runs keep of it, where all of them do.
    content, stream : str, optional
        Which part of the runs; see :meth:`haarbor.store.Run.part`.
    n_batches : int, default 4
        How many of the batches in common are looked at, the first ones.
    seed : int, default 0
        Of the random trees that `structure` is measured against.
    keep : bool, default True
        Keep the result in the last run, as "training-film".
    on_progress : function of (step, done, total), optional

    Returns
    -------
    TrainingFilm

    Raises
    ------
    SettingError
        If there are fewer than two runs, they are not of one architecture, or the steps do not increase.
    DataError
        If the runs share no batch of the same tokens.

    See Also
    --------
    haarbor.compare_runs : Runs compared.
    haarbor.plots.training_figure : Draws a training.
    """
    if not is_row(runs) or len(runs) < 2:
        raise SettingError(
            f"runs must be two checkpoints or more; found {found_text(runs)}. Pass a list of runs."
        )
    parts = [asked_part(run, content, stream) for run in runs]
    require_function("on_progress", on_progress)
    most = require_whole_number("n_batches", n_batches, 1)
    rng = np.random.default_rng(require_seed(seed))
    _require_one_architecture(parts)
    places = _steps(parts, steps)
    names = told_names(parts, None)
    residuals = _residuals(_kept_collapses(parts) if collapses is None else collapses, parts)
    batches = _shared(parts)[:most]
    sizes = parts[-1].sizes
    last: dict[int, AnyArray] = {}
    films = []
    tree: PartitionTree | None = None
    # The last checkpoint comes first, because all others are compared with it.
    for number, place in enumerate([len(parts) - 1, *range(len(parts) - 1)]):
        if on_progress is not None:
            on_progress("checkpoints", number, len(parts))
        part = parts[place]
        analysis = organize_run(part, **question_before(part).to_result(), on_progress=on_progress)
        tree = analysis.consensus.tree if tree is None else tree
        chosen = [analysis.batches.index(batch) for batch in batches]
        found: dict[str, Any] = {
            "entropies": np.mean([analysis.head_entropies[b].normalised for b in chosen], axis=0),
            "network_entropies": np.mean([analysis.network_entropies[b].normalised for b in chosen]),
            "tree_correlations": cophenetic_correlation(analysis.consensus.tree, tree),
            "sink_shares": np.zeros(sizes.n_layers * sizes.n_heads),
            "distances_to_last": np.zeros(sizes.n_layers * sizes.n_heads),
            "apart": 0.0,
        }
        sums = np.zeros(2)
        for batch in batches:
            tokens = valid_tokens(part.tensor(batch), part.mask(batch))
            filled = np.asarray(tokens.filled(part.content))
            own = part.load_result("organization", batch=batch)
            if place == len(parts) - 1:
                last[batch] = filled
            ending = parts[-1].load_result("organization", batch=batch)
            between = cross_distances(filled, last[batch], [own, ending])
            found["distances_to_last"] += np.diag(between) / len(batches)
            found["apart"] += _mean_apart(between) / len(batches)
            found["sink_shares"] += _first_share(tokens.tensor, part.content) / len(batches)
            one, _, random = coherence_sums(filled, own, own, rng)
            sums += one, random
        found["structure"] = 1.0 - sums[0] / sums[1] if sums[1] > 0 else np.nan
        films.append((place, found))
    if on_progress is not None:
        on_progress("checkpoints", len(parts), len(parts))
    apart = films[0][1]["apart"] or 1.0
    ordered = [found for _, found in sorted(films, key=lambda pair: pair[0])]
    film = TrainingFilm(
        names=names,
        steps=places,
        n_layers=sizes.n_layers,
        heads_per_layer=sizes.n_heads,
        batches=batches,
        distances_to_last=frozen(np.stack([found["distances_to_last"] for found in ordered]) / apart),
        **{
            name: frozen(np.array([found[name] for found in ordered], dtype=np.float64))
            for name in ("entropies", "network_entropies", "sink_shares", "tree_correlations", "structure")
        },
        residuals=residuals,
        equal_weights=tuple(
            (names[one], names[two])
            for one, two in combinations(range(len(parts)), 2)
            if same_weights(parts[one].run, parts[two].run)
        ),
        types=film_types(parts),
    )
    if keep:
        parts[-1].save_result(film, FILM)
    return film


def _require_one_architecture(parts: Sequence[RunPart]) -> None:
    shapes = [(part.sizes.n_layers, part.sizes.n_heads) for part in parts]
    for shape, part in zip(shapes, parts, strict=True):
        if shape != shapes[0]:
            raise SettingError(
                "checkpoints must have the same layers and heads; found "
                f"{shapes[0][0]} x {shapes[0][1]} and, in {part.run.location}, {shape[0]} x {shape[1]}. Pass "
                "checkpoints of one network."
            )


def _steps(parts: Sequence[RunPart], steps: Any) -> FloatArray:
    if steps is None:
        numbers = [re.findall(r"\d+", part.run.model) for part in parts]
        if not all(numbers):
            missing = next(part for part, found in zip(parts, numbers, strict=True) if not found)
            raise SettingError(
                "the step of a checkpoint must be known; the name of its model has no number: "
                f"{found_text(missing.run.model)}. Pass the steps."
            )
        found = np.array([float(one[-1]) for one in numbers])
    else:
        if not is_row(steps) or len(steps) != len(parts):
            raise SettingError(
                f"steps must be one for each of the {len(parts)} checkpoints; found {found_text(steps)}. "
                "Pass a list of numbers."
            )
        found = np.array([require_real_number("a step", step, least=0) for step in steps])
    if (np.diff(found) <= 0).any():
        raise SettingError(
            f"steps must increase from checkpoint to checkpoint; found {found_text(found.tolist())}. Pass "
            "the runs in the order of the training."
        )
    return frozen(found)


def _kept_collapses(parts: Sequence[RunPart]) -> list[RankCollapse] | None:
    """Rank collapse of the trained network that every run keeps; None if one does not."""
    kept = [kept_collapse(part) for part in parts]
    found = [one.results[_TRAINED] for one in kept if one is not None and _TRAINED in one.results]
    return found if len(found) == len(parts) else None


def _residuals(collapses: Any, parts: Sequence[RunPart]) -> FloatArray | None:
    if collapses is None:
        return None
    fits = is_row(collapses) and len(collapses) == len(parts)
    if not fits or not all(_AS_IT_IS in getattr(one, "variants", ()) for one in collapses):
        raise SettingError(
            f"collapses must be a RankCollapse of the network as it is for each of the {len(parts)} "
            f"checkpoints; found {found_text(collapses)}. Pass what rank_collapse gives."
        )
    each = [np.asarray(one.middle("composite", _AS_IT_IS)) for one in collapses]
    if len({values.size for values in each}) > 1:
        raise SettingError(
            "collapses must be of networks of the same depth; found depths "
            f"{sorted({values.size - 1 for values in each})}. Pass those of the checkpoints."
        )
    return frozen(np.stack(each))


def _shared(parts: Sequence[RunPart]) -> tuple[int, ...]:
    common = set(parts[-1].batches)
    for part in parts[:-1]:
        common &= set(shared_tokens(part, parts[-1]).batches)
        if not common:
            raise DataError(
                "checkpoints must share a batch of the same tokens; "
                f"{part.run.location} shares none with the others. Capture all of them from the same data."
            )
    return tuple(sorted(common))


def _mean_apart(distances: FloatArray) -> float:
    n_heads = distances.shape[0]
    return float((distances.sum() - np.trace(distances)) / max(1, n_heads * (n_heads - 1)))


def _first_share(tensor: AnyArray, content: str) -> FloatArray:
    """Mean attention to the first key of all queries but the first; NaN where logits were kept alone."""
    heads = np.asarray(tensor, dtype=np.float64)
    if content != "probabilities" or heads.shape[0] < 2:
        return np.full(heads.shape[2], np.nan)
    share: FloatArray = heads[1:, 0, :].mean(axis=0)
    return share
