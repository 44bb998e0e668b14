"""Diagnostics of the heads of a run, batch by batch, kept in it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from haarbor.analysis import asked_part, readable_result, require_same_network
from haarbor.array_types import BoolArray, FloatArray
from haarbor.diagnostics._attention_diagnostics import HeadDiagnostics, block_diagnostics
from haarbor.diagnostics._head_types import HeadType, head_types
from haarbor.diagnostics._model_diagnostics import ModelDiagnostics
from haarbor.errors import DataError
from haarbor.on_progress import OnProgress
from haarbor.options import require_function
from haarbor.store import HeadTensor, Run, RunPart

__all__ = [
    "DIAGNOSTICS",
    "MODEL_DIAGNOSTICS",
    "keep_model_diagnostics",
    "kept_diagnostics",
    "kept_model_diagnostics",
    "run_diagnostics",
    "run_types",
]

DIAGNOSTICS = "head-diagnostics"
"""Name of the results in a run."""
MODEL_DIAGNOSTICS = "model-diagnostics"
"""Name of the result of :func:`haarbor.head_diagnostics` in a run."""


def run_diagnostics(
    run: Run | RunPart, *, stream: str | None = None, on_progress: OnProgress | None = None
) -> tuple[HeadDiagnostics, ...]:
    """Diagnostics of every head on every batch of a run; kept in it as "head-diagnostics".

    They are made from the probabilities; of a run that holds logits only, from the softmax of these. What an
    earlier call has kept is not made again, unless it was damaged since.

    Parameters
    ----------
    run : Run or RunPart
    stream : str, optional
        The first stream if not given.
    on_progress : function of (step, done, total), optional

    Returns
    -------
    tuple of HeadDiagnostics
        One per batch.

    Raises
    ------
    DataError
        If the run has no complete batch, does not hold attention probabilities, or holds means over blocks of
        tokens.

    See Also
    --------
    haarbor.attention_diagnostics : Figures from attention alone.
    haarbor.diagnostics.run_types : Types of the heads of a run.
    haarbor.diagnostics.score_relations : Haar scores against diagnostics.
    """
    require_function("on_progress", on_progress)
    part = _measured_part(asked_part(run, None, stream))
    if part.sizes.pool > 1:
        raise DataError(
            f"diagnostics look at single tokens; the run holds means over blocks of {part.sizes.pool} x "
            f"{part.sizes.pool} tokens. Capture without pooling for them."
        )
    batches = part.batches
    if not batches:
        raise DataError("the run must have at least one complete batch; it has none. Capture again.")
    each: list[HeadDiagnostics] = []
    for done, batch in enumerate(batches, start=1):
        kept = part.kept_result(DIAGNOSTICS, batch=batch)
        found = kept.value if kept.state == "whole" else None
        if not isinstance(found, HeadDiagnostics):
            found = _of_batch(part, batch)
            part.save_result(found, DIAGNOSTICS, batch=batch)
        each.append(found)
        if on_progress is not None:
            on_progress("head diagnostics", done, len(batches))
    return tuple(each)


def kept_diagnostics(run: Run | RunPart, *, stream: str | None = None) -> tuple[HeadDiagnostics, ...]:
    """Diagnostics that a run holds, one per batch; () unless every batch has them.

    Raises
    ------
    StoreError
        If one is damaged.

    See Also
    --------
    haarbor.run_diagnostics : Figures of every batch of a run.
    haarbor.diagnostics.mean_figures : Means over batches.
    """
    part = _measured_part(asked_part(run, None, stream))
    each = [readable_result(part, DIAGNOSTICS, batch=batch) for batch in part.batches]
    return tuple(each) if all(isinstance(found, HeadDiagnostics) for found in each) else ()


def run_types(run: Run | RunPart, *, stream: str | None = None) -> tuple[HeadType, ...]:
    """Type of every head of a run, from the diagnostics that it holds; () if it holds none.

    See Also
    --------
    haarbor.run_diagnostics : Figures of every batch of a run.
    haarbor.diagnostics.head_types : Types from figures.
    haarbor.plots.head_types_figure : Draws the types.
    """
    each = kept_diagnostics(run, stream=stream)
    if not each:
        return ()
    measured = kept_model_diagnostics(run, stream=stream)
    return head_types(each, None if measured is None else measured.repeated)


def keep_model_diagnostics(
    run: Run | RunPart, found: ModelDiagnostics, *, weights: str | None = None, stream: str | None = None
) -> None:
    """Keep what was measured on the network itself in a run of it.

    Parameters
    ----------
    run : Run or RunPart
    found : ModelDiagnostics
    weights : str, optional
        Digest of the weights it was measured on; it must be that of the run, where the run has one.
    stream : str, optional

    Raises
    ------
    DataError
        If the run is of another network.

    See Also
    --------
    haarbor.diagnostics.kept_model_diagnostics : Those that a run holds.
    haarbor.head_diagnostics : Figures that need the network.
    """
    part = _measured_part(asked_part(run, None, stream))
    require_same_network(part, weights=weights, n_heads=found.n_heads)
    part.save_result(found, MODEL_DIAGNOSTICS)


def kept_model_diagnostics(run: Run | RunPart, *, stream: str | None = None) -> ModelDiagnostics | None:
    """Diagnostics of the network itself that a run holds, or None.

    See Also
    --------
    haarbor.diagnostics.keep_model_diagnostics : Keep them in a run.
    """
    part = _measured_part(asked_part(run, None, stream))
    found = readable_result(part, MODEL_DIAGNOSTICS)
    return found if isinstance(found, ModelDiagnostics) else None


def _measured_part(part: RunPart) -> RunPart:
    """The probabilities of the same stream, or the logits where there are none."""
    content = "probabilities" if "probabilities" in part.run.contents else "logits"
    return part.run.part(content, part.stream)


def _of_batch(part: RunPart, batch: int) -> HeadDiagnostics:
    tensor, mask = part.tensor(batch), part.mask(batch)
    has_texts = part.run.plan.labels != "none"
    texts = part.labels(batch) if has_texts else None
    labels = ((), ()) if texts is None else (texts.query, texts.key)
    blocks = tensor.head_blocks() if part.content == "probabilities" else _softmax_blocks(tensor, mask)
    n_blocks = tensor.shape[2] // tensor.heads_per_block
    same_sequence = part.stream.split(".")[0] != "cross"
    return block_diagnostics(blocks, n_blocks, tensor.shape[2], mask, same_sequence, labels)


def _softmax_blocks(tensor: HeadTensor, mask: BoolArray) -> Iterator[FloatArray]:
    for block in tensor.head_blocks():
        scores = np.where(mask, block, -np.inf)
        most = scores.max(axis=2, keepdims=True)
        powers = np.exp(scores - np.where(np.isfinite(most), most, 0.0))
        sums = powers.sum(axis=2, keepdims=True)
        yield powers / np.where(sums > 0, sums, 1.0)
