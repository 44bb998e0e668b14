"""Hölder exponents (smoothness) of every head of a run, organised and in the order of the text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.analysis._damaged_results import tell_remade, whole_result
from haarbor.analysis._head_trees import HeadSettings
from haarbor.analysis._organized_heads import organized_heads
from haarbor.array_types import FloatArray, IntArray, frozen
from haarbor.engines import parallel_map
from haarbor.errors import DataError
from haarbor.on_progress import OnProgress
from haarbor.options import require_function, require_whole_number
from haarbor.store import Run
from haarbor.stored_result import stored_result
from haarbor.trees import halved_tree
from haarbor.wavelets import HolderExponent, holder_exponent

__all__ = ["RunRegularity", "run_regularity"]


@stored_result("RunRegularity")
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RunRegularity:
    """Mixed Hölder exponents of the logits of all heads of one batch.

    Arrays have shape (n_heads,). A head that is the sum of a function of the query and a function of
    the key has no mixed differences: its entries are NaN.
    """

    organised: FloatArray
    """Exponent on the head's own trees."""
    organised_error: FloatArray
    organised_row: FloatArray
    organised_column: FloatArray
    natural: FloatArray
    """Exponent on the tree that halves the text in its own order again and again."""
    natural_error: FloatArray
    natural_row: FloatArray
    natural_column: FloatArray
    shuffled: FloatArray
    """Exponent on the head's own trees with rows and columns shuffled."""
    layers: IntArray
    batch: int
    stream: str
    settings: str
    seed: int

    @property
    def gain(self) -> FloatArray:
        """How much higher the exponent is organised than in the order of the text."""
        return self.organised - self.natural

    def __repr__(self) -> str:
        return (
            f"RunRegularity({self.layers.size} heads, batch {self.batch}, median exponent "
            f"{np.nanmedian(self.organised):.3f} organised, {np.nanmedian(self.natural):.3f} in the order of "
            f"the text, {np.nanmedian(self.shuffled):.3f} shuffled)"
        )


def run_regularity(
    run: Run,
    batch: int = 0,
    *,
    stream: str | None = None,
    settings: HeadSettings = "ours",
    seed: int = 0,
    on_progress: OnProgress | None = None,
) -> RunRegularity:
    """Hölder exponents of every head on a batch of a run; kept in it as "holder-exponents".

    Masked logits have no value; they are the mean of their row here, as when heads are organised.

    Parameters
    ----------
    run : Run
        With logits.
    batch : int, default 0
    stream : str, optional
    settings : {"ours", "paper"}, default "ours"
        With which settings each head is organised; see :func:`haarbor.analysis.head_trees`.
    seed : int, default 0
    on_progress : function of (step, done, total), optional

    Returns
    -------
    RunRegularity
        What an earlier call with the same settings has kept is not made again, unless it was damaged
        since; then a ResultWarning says so.

    See Also
    --------
    haarbor.holder_exponent : Smoothness on trees.
    haarbor.analysis.run_invariance : Softmax invariance of every head of a run.
    """
    require_whole_number("seed", seed)
    require_function("on_progress", on_progress)
    organized = organized_heads(run, batch, stream=stream, settings=settings)
    part = organized.part
    damaged: list[str] = []
    kept = whole_result(part, "holder-exponents", RunRegularity, damaged, batch=batch)
    if isinstance(kept, RunRegularity) and (kept.settings, kept.seed) == (settings, seed):
        return kept
    filled = organized.tokens.filled("logits")
    plain = tuple(halved_tree(n) for n in filled.shape[:2])

    def measured(head: int) -> tuple[HolderExponent | None, HolderExponent | None]:
        matrix = filled[:, :, head]
        try:
            return (
                holder_exponent(matrix, *organized.trees.trees(head), seed=seed),
                holder_exponent(matrix, *plain, seed=seed),
            )
        except DataError:
            return None, None

    each = parallel_map(measured, organized.trees.heads.tolist(), on_progress, step="regularity")

    def column(which: int, name: str) -> FloatArray:
        return frozen(
            np.array([np.nan if pair[which] is None else getattr(pair[which], name) for pair in each])
        )

    found = RunRegularity(
        organised=column(0, "alpha"),
        organised_error=column(0, "alpha_error"),
        organised_row=column(0, "alpha_row"),
        organised_column=column(0, "alpha_column"),
        natural=column(1, "alpha"),
        natural_error=column(1, "alpha_error"),
        natural_row=column(1, "alpha_row"),
        natural_column=column(1, "alpha_column"),
        shuffled=column(0, "shuffled_alpha"),
        layers=frozen(organized.trees.heads // organized.part.sizes.n_heads),
        batch=batch,
        stream=organized.part.stream,
        settings=settings,
        seed=seed,
    )
    part.save_result(found, "holder-exponents", batch=batch)
    tell_remade(damaged)
    return found
