"""Softmax invariance of every head of a run, and its correlation with other measurements."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from haarbor.analysis._damaged_results import tell_remade, whole_result
from haarbor.analysis._head_trees import HeadSettings, HeadTrees
from haarbor.analysis._organized_heads import OrganizedHeads, organized_heads
from haarbor.analysis._rank_correlation import rank_correlation
from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.engines import parallel_map
from haarbor.errors import DataError
from haarbor.head_labels import head_label
from haarbor.on_progress import OnProgress
from haarbor.options import require_function, require_whole_number
from haarbor.paraproducts import InvarianceFigures, SoftmaxInvariance, softmax_invariance
from haarbor.store import Run
from haarbor.stored_result import stored_result
from haarbor.wavelets import head_entropy

__all__ = ["RunInvariance", "run_invariance"]

FIGURES = tuple(field.name for field in dataclasses.fields(InvarianceFigures))


@stored_result("RunInvariance")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunInvariance:
    """Figures of :func:`haarbor.softmax_invariance` for all heads of one batch, each on its own trees.

    Arrays have shape (n_heads,). Figures of a head whose softmax is uniform are NaN: there is nothing
    to explain.
    """

    figures: Mapping[str, FloatArray]
    """One array per field of `InvarianceFigures`."""
    shuffled_trees: Mapping[str, FloatArray]
    """Figures of the control with shuffled trees."""
    shuffled_rows: Mapping[str, FloatArray]
    """Figures of the control with shuffled rows."""
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
    """Name of the settings of the trees: "ours" or "paper"."""
    seed: int

    @property
    def labels(self) -> list[str]:
        """Names of the heads, as "layer.head"."""
        places = np.arange(self.layers.size)
        return [head_label(*divmod(int(place), self.heads_per_layer)) for place in places]

    def order(self) -> IntArray:
        """Heads from the most to the least invariant; those without a figure last."""
        return np.argsort(-self.figures["invariance"], kind="stable")

    def correlations(self) -> dict[str, float]:
        """Spearman correlation of `invariance` with other figures; NaN where one of them is constant."""
        return {
            "logit deviation": rank_correlation(self.figures["invariance"], self.logit_deviation),
            "layer": rank_correlation(self.figures["invariance"], self.layers.astype(np.float64)),
            "Haar entropy": rank_correlation(self.figures["invariance"], self.entropy),
            "spread of the constants": rank_correlation(
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
    on_progress: OnProgress | None = None,
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
        With which settings each head is organised; see :func:`haarbor.analysis.head_trees`.
    seed : int, default 0
        Seed of the random controls.
    on_progress : function of (step, done, total), optional
        Every head counts twice: once when it is organised, once when it is measured.

    Returns
    -------
    RunInvariance
    HeadTrees
        The trees of the heads, kept as "head-trees".

    Raises
    ------
    SettingError
        If the run has no logits.

    See Also
    --------
    haarbor.softmax_invariance : How nearly linear the softmax of a head is.
    haarbor.analysis.run_regularity : Exponents of every head of a run.

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
    part = organized.part
    damaged: list[str] = []
    kept = whole_result(part, "softmax-invariance", RunInvariance, damaged, batch=batch)
    if kept is not None and (kept.settings, kept.seed) == (settings, seed):
        return kept, organized.trees
    found = _measured(organized, batch, settings, seed, _half(on_progress, 1))
    part.save_result(found, "softmax-invariance", batch=batch)
    tell_remade(damaged)
    return found, organized.trees


def _measured(
    organized: OrganizedHeads,
    batch: int,
    settings: str,
    seed: int,
    on_progress: OnProgress | None,
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

    each = parallel_map(measured, trees.heads.tolist(), on_progress, step="softmax")

    def column(which: str) -> dict[str, FloatArray]:
        return {
            name: frozen(
                np.array(
                    [np.nan if one is None else getattr(getattr(one, which), name) for one, _, _ in each]
                )
            )
            for name in FIGURES
        }

    per_layer = organized.part.sizes.n_heads
    return RunInvariance(
        figures=column("figures"),
        shuffled_trees=column("shuffled_trees"),
        shuffled_rows=column("shuffled_rows"),
        logit_deviation=frozen(np.array([deviation for _, deviation, _ in each])),
        entropy=frozen(np.array([entropy for _, _, entropy in each])),
        layers=frozen(trees.heads // per_layer),
        heads_per_layer=per_layer,
        batch=batch,
        stream=organized.part.stream,
        settings=settings,
        seed=seed,
    )


def _half(on_progress: OnProgress | None, which: int) -> OnProgress | None:
    """Report the progress of the first (0) or second (1) half of the work as progress of the whole."""
    if on_progress is None:
        return None

    def told(_step: str, done: int, total: int | None) -> None:
        n_heads = total or 0
        on_progress("softmax", done + which * n_heads, 2 * n_heads)

    return told
