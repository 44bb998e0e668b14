"""Softmax invariance of every head of a run, and what it goes with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.analysis._damaged_results import tell_remade, whole_result
from haarbor.analysis._head_trees import HeadSettings, HeadTrees
from haarbor.analysis._organized_heads import OrganizedHeads, organized_heads
from haarbor.argument_kinds import require_function, require_whole_number
from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.engines import parallel_map
from haarbor.errors import DataError
from haarbor.paraproducts import InvarianceFigures, SoftmaxInvariance, softmax_invariance
from haarbor.store import Run
from haarbor.stored_result import stored_result
from haarbor.wavelets import head_entropy

__all__ = ["RunInvariance", "run_invariance"]

FIGURES = tuple(field.name for field in dataclasses.fields(InvarianceFigures))


@stored_result("RunInvariance")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunInvariance:
    """Figures of :func:`haarbor.softmax_invariance` for all heads of one batch, each on trees of its own.

    Arrays have shape (n_heads,). A head whose softmax is uniform has nothing to explain: NaN.
    """

    figures: Mapping[str, FloatArray]
    """By the names of `InvarianceFigures`."""
    shuffled_trees: Mapping[str, FloatArray]
    shuffled_rows: Mapping[str, FloatArray]
    logit_deviation: FloatArray
    """Standard deviation of the valid logits about their row means."""
    entropy: FloatArray
    """Mean-removed Haar entropy of the logits over the 400 coarsest functions."""
    layers: IntArray
    """Layer of each head."""
    heads_per_layer: int
    batch: int
    stream: str
    settings: str
    """Of the trees: "ours" or "paper"."""
    seed: int

    @property
    def labels(self) -> list[str]:
        """Heads as layer.head."""
        places = np.arange(self.layers.size)
        return [f"{place // self.heads_per_layer}.{place % self.heads_per_layer}" for place in places]

    def order(self) -> IntArray:
        """Heads from the closest to invariant to the farthest; those without a figure last."""
        return np.argsort(-self.figures["invariance"], kind="stable")

    def correlations(self) -> dict[str, float]:
        """Spearman correlation of `invariance` with other figures; NaN where one of them is constant."""
        return {
            "logit deviation": _spearman(self.figures["invariance"], self.logit_deviation),
            "layer": _spearman(self.figures["invariance"], self.layers.astype(np.float64)),
            "Haar entropy": _spearman(self.figures["invariance"], self.entropy),
            "spread of the constants": _spearman(
                self.figures["invariance"], self.figures["constant_deviation"]
            ),
        }

    def __repr__(self) -> str:
        middle = float(np.nanmedian(self.figures["invariance"]))
        return f"RunInvariance({self.layers.size} heads, batch {self.batch}, median invariance {middle:.3f})"


def run_invariance(
    run: Run,
    batch: int = 0,
    *,
    stream: str | None = None,
    settings: HeadSettings = "ours",
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
) -> tuple[RunInvariance, HeadTrees]:
    """Softmax invariance of every head on a batch of a run; kept in it as "softmax-invariance".

    Parameters
    ----------
    run : Run
        With logits.
    batch : int, default 0
    stream : str, optional
        The first one if not given.
    settings : {"ours", "paper"}, default "ours"
        Of the questionnaire of each head; see :func:`haarbor.analysis.head_trees`.
    seed : int, default 0
        Of the controls.
    on_progress : function of (steps done, steps in all), optional
        Two steps a head, organised and measured.

    Returns
    -------
    RunInvariance
    HeadTrees
        The trees of the heads, kept as "head-trees".

    Raises
    ------
    SettingError
        If the run has no logits.

    Notes
    -----
    What an earlier call with the same settings has kept is not done again, unless it was damaged since;
    then a ResultWarning says so.
    """
    require_whole_number("seed", seed)
    require_function("on_progress", on_progress)
    organized = organized_heads(
        run, batch, stream=stream, settings=settings, on_progress=_half(on_progress, 0)
    )
    place: Any = {"batch": batch, "content": "logits", "stream": organized.stream}
    damaged: list[str] = []
    kept = whole_result(run, "softmax-invariance", RunInvariance, damaged, **place)
    if kept is not None and (kept.settings, kept.seed) == (settings, seed):
        return kept, organized.trees
    found = _measured(run, organized, batch, settings, seed, _half(on_progress, 1))
    run.save_result(found, "softmax-invariance", **place)
    tell_remade(damaged)
    return found, organized.trees


def _measured(
    run: Run,
    organized: OrganizedHeads,
    batch: int,
    settings: str,
    seed: int,
    on_progress: Callable[[int, int], None] | None,
) -> RunInvariance:
    tokens, trees = organized.tokens, organized.trees
    mask = None if tokens.mask.all() else tokens.mask
    filled = tokens.filled("logits")

    def measured(head: int) -> tuple[SoftmaxInvariance | None, float, float]:
        row_tree, column_tree = trees.trees(head)
        logits = tokens.tensor[:, :, head]
        entropy = head_entropy(filled[:, :, head], {"query": row_tree, "key": column_tree}).mean_removed[0]
        deviation = float(np.std((logits - filled[:, :, head].mean(axis=1, keepdims=True))[tokens.mask]))
        try:
            found = softmax_invariance(logits, row_tree, column_tree, mask, seed=seed)
        except DataError:
            return None, deviation, float(entropy)
        return found, found.logit_deviation, float(entropy)

    each = parallel_map(measured, trees.heads.tolist(), on_progress)

    def column(which: str) -> dict[str, FloatArray]:
        return {
            name: frozen(
                np.array(
                    [np.nan if one is None else getattr(getattr(one, which), name) for one, _, _ in each]
                )
            )
            for name in FIGURES
        }

    per_layer = run.plan.stream(organized.stream).n_heads
    return RunInvariance(
        figures=column("figures"),
        shuffled_trees=column("shuffled_trees"),
        shuffled_rows=column("shuffled_rows"),
        logit_deviation=frozen(np.array([deviation for _, deviation, _ in each])),
        entropy=frozen(np.array([entropy for _, _, entropy in each])),
        layers=frozen(trees.heads // per_layer),
        heads_per_layer=per_layer,
        batch=batch,
        stream=organized.stream,
        settings=settings,
        seed=seed,
    )


def _half(on_progress: Callable[[int, int], None] | None, which: int) -> Callable[[int, int], None] | None:
    """Progress of the first or second of two equal parts."""
    if on_progress is None:
        return None
    return lambda done, total: on_progress(done + which * total, 2 * total)


def _spearman(one: FloatArray, two: FloatArray) -> float:
    from scipy.stats import rankdata

    present = np.isfinite(one) & np.isfinite(two)
    if present.sum() < 3 or np.ptp(one[present]) == 0 or np.ptp(two[present]) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(one[present]), rankdata(two[present]))[0, 1])
