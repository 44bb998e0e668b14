"""Runs compared with each other: networks, checkpoints, or inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import PurePath
from typing import Any, Literal, get_args

import numpy as np

from haarbor.analysis import (
    RunAnalysis,
    ValidTokens,
    asked_part,
    head_geometry,
    organize_run,
    question_before,
    rank_correlation,
    valid_tokens,
)
from haarbor.array_types import AnyArray, FloatArray, IntArray, frozen
from haarbor.compare._cross_coherence import coherence_sums
from haarbor.compare._cross_distances import cross_distances
from haarbor.compare._gromov_wasserstein import gromov_wasserstein, require_transport
from haarbor.compare._head_matching import head_matching
from haarbor.compare._head_tree_agreement import head_tree_agreement
from haarbor.compare._layer_alignment import layer_alignment, layer_kernels
from haarbor.compare._matching_test import MatchingTest, matching_test
from haarbor.compare._run_comparison import RunComparison
from haarbor.compare._shared_tokens import SharedTokens, shared_tokens
from haarbor.compare._verdict import verdict
from haarbor.errors import SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import (
    found_text,
    is_row,
    require_choice,
    require_function,
    require_seed,
    require_whole_number,
)
from haarbor.questionnaire import Organization
from haarbor.store import Run, RunPart
from haarbor.stored_result import stored_result

__all__ = ["COMPARISON", "Comparison", "Matching", "compare_runs", "same_weights", "told_names"]

COMPARISON = "comparison"
"""Name under which a comparison is kept in the first of its runs."""

Matching = Literal["auto", "tokens", "geometry", "place"]
# Each is as many times the whole work, and the share of small ones says little more.
_MOST_SHUFFLED = 99
# Setting of a run with the digest of its weights.
_WEIGHTS = "weights"


@stored_result("Comparison")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Comparison:
    """Several runs compared, every two of them.

    See Also
    --------
    haarbor.compare_runs : Runs compared.
    haarbor.plots.comparison_figure : Draws a comparison.
    """

    names: tuple[str, ...]
    pairs: tuple[RunComparison, ...]
    """(0, 1), (0, 2), ..., (1, 2), ..."""

    @property
    def equal_weights(self) -> tuple[tuple[str, str], ...]:
        """Names of runs with the same weights under different names."""
        return tuple(
            pair.names for pair in self.pairs if pair.same_weights and pair.names[0] != pair.names[1]
        )

    def distances(self) -> FloatArray:
        """Distance of every two runs over that by chance, shape (n, n); zero on the diagonal."""
        found = np.zeros((len(self.names), len(self.names)))
        for (one, two), pair in zip(combinations(range(len(self.names)), 2), self.pairs, strict=True):
            found[one, two] = found[two, one] = pair.relative_distance
        return found

    def verdict(self) -> tuple[str, ...]:
        """What was found, in sentences: of two runs all of it, of more the first sentence of each pair."""
        if len(self.pairs) == 1:
            return verdict(self.pairs[0])
        told = [verdict(pair)[0] for pair in self.pairs]
        told += [f"{one} and {two} have the same weights." for one, two in self.equal_weights]
        return tuple(told)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.names)})"


def compare_runs(
    runs: Sequence[Run | RunPart],
    *,
    names: Sequence[str] | None = None,
    content: str | None = None,
    stream: str | None = None,
    matching: Matching = "auto",
    n_batches: int = 8,
    n_permutations: int = 999,
    seed: int = 0,
    keep: bool = True,
    on_progress: OnProgress | None = None,
) -> Comparison:
    """Compare runs: which heads correspond, how far they are apart, and whether that is less than chance.

    Parameters
    ----------
    runs : sequence of Run or RunPart
        Two or more: networks, checkpoints of one, or one network on different inputs. A run that is not
        organised yet is organised first.
    names : sequence of str, optional
        What the runs are called; by default their models, with their places where models have one name.
    content, stream : str, optional
        Which part of the runs; see :meth:`haarbor.store.Run.part`.
    matching : {"auto", "tokens", "geometry", "place"}, default "auto"
        Heads are matched by their attention on the same tokens, by their distances within each network
        (Gromov-Wasserstein), or taken to be the same by their place. By default by tokens where the runs
        share some, else by place where they are of the same weights, else by geometry.
    n_batches : int, default 8
        How many of the batches in common are looked at, the first ones.
    n_permutations : int, default 999
        Of each test; at most 99 where heads are matched by geometry.
    seed : int, default 0
    keep : bool, default True
        Keep the result in the first run, as "comparison".
    on_progress : function of (step, done, total), optional

    Returns
    -------
    Comparison

    Raises
    ------
    SettingError
        If there are fewer than two runs, or runs cannot be matched as asked.
    DataError
        If a run has no complete batch.

    See Also
    --------
    haarbor.training_film : A network through its training.
    haarbor.compare.head_matching : Pairs of least distance.
    haarbor.compare.verdict : The result in sentences.
    haarbor.plots.comparison_figure : Draws a comparison.

    Notes
    -----
    Distances between heads are tree EMD, the mean of those along the token trees of both networks. Heads
    are matched by the first half of the batches and tested on the second half (of one batch: by its even
    queries, tested on the odd ones); the matching that is told is made from all.
    """
    parts = _checked_runs(runs, content, stream)
    require_choice("matching", matching, get_args(Matching))
    require_function("on_progress", on_progress)
    most = require_whole_number("n_batches", n_batches, 1)
    n_random = require_whole_number("n_permutations", n_permutations, 1)
    require_seed(seed)
    called = told_names(parts, names)
    pairs = list(combinations(range(len(parts)), 2))
    # Before anything is organised: whatever cannot be matched is refused at once.
    plans = [_plan(parts[one], parts[two], matching) for one, two in pairs]
    sides = [
        _Side(part, organize_run(part, **question_before(part).to_result(), on_progress=on_progress))
        for part in parts
    ]
    found = []
    for number, ((one, two), (method, shared)) in enumerate(zip(pairs, plans, strict=True)):
        if on_progress is not None:
            on_progress("comparing", number, len(pairs))
        both = _Pair(sides[one], sides[two], (called[one], called[two]), method, shared, most, n_random, seed)
        found.append(both.compared())
    if on_progress is not None:
        on_progress("comparing", len(pairs), len(pairs))
    comparison = Comparison(names=called, pairs=tuple(found))
    if keep:
        parts[0].save_result(comparison, COMPARISON)
    return comparison


def same_weights(first: Run, second: Run) -> bool | None:
    """Whether two runs are of the same weights; None where a run does not say."""
    digests = [run.plan.settings.get(_WEIGHTS) for run in (first, second)]
    return None if None in digests else digests[0] == digests[1]


def told_names(parts: Sequence[RunPart], names: Sequence[str] | None) -> tuple[str, ...]:
    """What the runs are called: as given, or by their models, with their places where those are not enough.

    Raises
    ------
    SettingError
        If there is not one name per run.
    """
    if names is not None:
        if not is_row(names) or len(names) != len(parts) or not all(isinstance(n, str) for n in names):
            raise SettingError(
                f"names must be one for each of the {len(parts)} runs; found {found_text(names)}. "
                "Pass a list of texts, or leave it out."
            )
        return tuple(names)
    models = [part.run.model for part in parts]
    called = [
        model if models.count(model) == 1 else f"{model} ({PurePath(part.run.location).name})"
        for model, part in zip(models, parts, strict=True)
    ]
    # The same run given twice, or runs of one name in two folders.
    return tuple(
        name if called.count(name) == 1 else f"{name} [{place + 1}]" for place, name in enumerate(called)
    )


def _checked_runs(runs: Any, content: str | None, stream: str | None) -> list[RunPart]:
    if not is_row(runs) or len(runs) < 2:
        raise SettingError(
            f"runs must be two or more to compare; found {found_text(runs)}. Pass a list of runs."
        )
    return [asked_part(run, content, stream) for run in runs]


def _plan(first: RunPart, second: RunPart, matching: str) -> tuple[str, SharedTokens]:
    """How the heads of two runs are matched, and on which batches."""
    shared = shared_tokens(first, second)
    one, two = first.sizes, second.sizes
    alike = (one.n_layers, one.n_heads) == (two.n_layers, two.n_heads)
    if matching == "tokens" and not shared.batches:
        raise SettingError(
            "runs matched by tokens must share a batch of the same tokens; "
            f"{first.run.location} and {second.run.location} share none. Capture both from the same data, or "
            "match by geometry."
        )
    if matching == "place" and not alike:
        raise SettingError(
            "runs matched by place must have the same layers and heads; found "
            f"{one.n_layers} x {one.n_heads} and {two.n_layers} x {two.n_heads}. Match by tokens or geometry."
        )
    if matching == "auto":
        same = same_weights(first.run, second.run)
        matching = "tokens" if shared.batches else "place" if same and alike else "geometry"
    if matching == "geometry":
        require_transport()
    return matching, shared


@dataclass(slots=True)
class _Side:
    """One of the runs, with what is read of it more than once."""

    part: RunPart
    analysis: RunAnalysis

    def tokens(self, batch: int) -> ValidTokens:
        return valid_tokens(self.part.tensor(batch), self.part.mask(batch))

    def organization(self, batch: int) -> Organization:
        found: Organization = self.part.load_result("organization", batch=batch)
        return found

    def entropies(self, batches: Sequence[int]) -> FloatArray:
        chosen = [self.analysis.batches.index(batch) for batch in batches]
        each = [self.analysis.head_entropies[place].normalised for place in chosen]
        return frozen(np.mean(each, axis=0))

    def network_entropies(self, batches: Sequence[int]) -> FloatArray:
        chosen = [self.analysis.batches.index(batch) for batch in batches]
        return frozen(np.array([self.analysis.network_entropies[place].normalised for place in chosen]))


@dataclass(slots=True)
class _Pair:
    """Two runs while they are compared."""

    first: _Side
    second: _Side
    names: tuple[str, str]
    matching: str
    shared: SharedTokens
    most: int
    n_permutations: int
    seed: int

    def compared(self) -> RunComparison:
        sizes = self.first.part.sizes, self.second.part.sizes
        sides = self.first, self.second
        batches = self.shared.batches[: self.most]
        distances = test = geometry = coherence = cka = cka_other = None
        if batches:
            each, halves, coherence, cka, cka_other = self._on_shared(batches)
            distances = frozen(np.mean(each, axis=0))
            test = self._tested(each, halves)
        if self.matching == "tokens":
            assert distances is not None
            method, pairs = "tree EMD", head_matching(distances)
        elif self.matching == "place":
            method, pairs = "place", _in_place(sizes[0].n_layers * sizes[0].n_heads)
        else:
            method = "Gromov-Wasserstein"
            laid = gromov_wasserstein(
                *(head_geometry(side.analysis.consensus).distances for side in sides),
                n_permutations=min(self.n_permutations, _MOST_SHUFFLED),
                seed=self.seed,
            )
            pairs, geometry = laid.pairs, (laid.distance, laid.chance, laid.p_value)
        one, two = (side.analysis.consensus.tree for side in sides)
        agreement = partial(head_tree_agreement, one, two, n_permutations=self.n_permutations, seed=self.seed)
        alike = (sizes[0].n_layers, sizes[0].n_heads) == (sizes[1].n_layers, sizes[1].n_heads)
        looked = [batches or side.analysis.batches for side in sides]
        entropies = [side.entropies(which) for side, which in zip(sides, looked, strict=True)]
        networks = [side.network_entropies(which) for side, which in zip(sides, looked, strict=True)]
        return RunComparison(
            names=self.names,
            places=(self.first.part.run.location, self.second.part.run.location),
            layers=(sizes[0].n_layers, sizes[1].n_layers),
            heads_per_layer=(sizes[0].n_heads, sizes[1].n_heads),
            same_weights=same_weights(self.first.part.run, self.second.part.run),
            tokens=self.shared.tokens,
            batches=batches,
            method=method,
            distances=distances,
            pairs=pairs,
            test=test,
            geometry=geometry,
            trees=agreement(pairs),
            trees_in_place=agreement() if alike else None,
            entropies=(entropies[0], entropies[1]),
            entropy_correlation=rank_correlation(entropies[0][pairs[:, 0]], entropies[1][pairs[:, 1]]),
            network_entropies=(networks[0], networks[1]),
            coherence=coherence,
            cka=cka,
            cka_other_tokens=cka_other,
        )

    def _on_shared(self, batches: Sequence[int]) -> Any:
        """Everything that is measured on the same tokens, batch by batch."""
        each: list[FloatArray] = []
        halves: list[FloatArray] = []
        sums = np.zeros((2, 3))
        rng = np.random.default_rng(self.seed)
        kernels: list[tuple[FloatArray | None, FloatArray | None]] = []
        for batch in batches:
            tensors = [side.tokens(batch).filled(side.part.content) for side in (self.first, self.second)]
            made = [side.organization(batch) for side in (self.first, self.second)]
            each.append(cross_distances(tensors[0], tensors[1], made))
            if len(batches) == 1 and tensors[0].shape[0] >= 4:
                halves = [
                    cross_distances(tensors[0], tensors[1], made, queries=slice(begin, None, 2))
                    for begin in (0, 1)
                ]
            sums[0] += coherence_sums(tensors[0], made[0], made[1], rng)
            sums[1] += coherence_sums(tensors[1], made[1], made[0], rng)
            kernels.append((self._kernels(tensors[0], self.first), self._kernels(tensors[1], self.second)))
        coherence = tuple(_suited(*row) for row in sums.tolist())
        shape = self.first.part.sizes.n_layers, self.second.part.sizes.n_layers
        cka = layer_alignment([(a, b) for a, b in kernels if a is not None and b is not None], shape)
        moved = [*kernels[1:], kernels[0]] if len(kernels) > 1 else []
        others = [
            (a, b)
            for (a, _), (_, b) in zip(kernels, moved, strict=False)
            if a is not None and b is not None and a.shape[1] == b.shape[1]
        ]
        other = frozen(layer_alignment(others, shape)) if others else None
        return each, halves, coherence, frozen(cka), other

    @staticmethod
    def _kernels(tensor: AnyArray, side: _Side) -> FloatArray | None:
        return layer_kernels(tensor, side.part.sizes.n_layers)

    def _tested(self, each: list[FloatArray], halves: list[FloatArray]) -> MatchingTest | None:
        if len(each) > 1:
            middle = (len(each) + 1) // 2
            halves = [np.mean(each[:middle], axis=0), np.mean(each[middle:], axis=0)]
        if not halves:
            return None
        return matching_test(halves[0], halves[1], n_permutations=self.n_permutations, seed=self.seed)


def _in_place(n_heads: int) -> IntArray:
    return frozen(np.stack([np.arange(n_heads)] * 2, axis=1))


def _suited(own: float, other: float, random: float) -> float:
    """Where the coherence on another network's trees lies between that on random trees and its own."""
    return (random - other) / (random - own) if random > own else float("nan")
