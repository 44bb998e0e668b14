"""The logits of a batch of a run, with every head organised by itself."""

from __future__ import annotations

from dataclasses import dataclass

from haarbor.analysis._asked_part import asked_part, checked_batch
from haarbor.analysis._damaged_results import tell_remade, whole_result
from haarbor.analysis._head_trees import HeadSettings, HeadTrees, head_trees
from haarbor.analysis._valid_tokens import ValidTokens, valid_tokens
from haarbor.errors import SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import require_function
from haarbor.store import Run, RunPart

__all__ = ["OrganizedHeads", "organized_heads", "require_logits"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OrganizedHeads:
    """Logits of one batch without padding, and the trees of every head."""

    part: RunPart
    """The logits and their stream."""
    tokens: ValidTokens
    trees: HeadTrees


def require_logits(run: Run, batch: int, stream: str | None) -> RunPart:
    """Logits of a stream; raise unless the run has them for this batch."""
    asked_part(run, None, stream)
    if "logits" not in run.contents:
        raise SettingError(
            f"the run must hold logits, the scores before the softmax; it holds {', '.join(run.contents)}. "
            "Capture it again with haarbor capture --logits."
        )
    checked_batch(run, batch)
    return run.part("logits", stream)


def organized_heads(
    run: Run,
    batch: int = 0,
    *,
    stream: str | None = None,
    settings: HeadSettings = "ours",
    on_progress: OnProgress | None = None,
) -> OrganizedHeads:
    """Every head of a batch organised by itself; the trees are kept in the run as "head-trees".

    Parameters
    ----------
    run : Run
        With logits.
    batch : int, default 0
    stream : str, optional
        The first one if not given.
    settings : {"ours", "paper"}, default "ours"
    on_progress : function of (step, done, total), optional

    Returns
    -------
    OrganizedHeads

    Raises
    ------
    SettingError
        If the run has no logits, or no such stream or batch.
    """
    part = require_logits(run, batch, stream)
    require_function("on_progress", on_progress)
    tokens = valid_tokens(part.tensor(batch), part.mask(batch))
    damaged: list[str] = []
    kept = whole_result(part, "head-trees", HeadTrees, damaged, batch=batch)
    if kept is not None and kept.settings == settings:
        if on_progress is not None:
            on_progress("organising heads", kept.heads.size, kept.heads.size)
        return OrganizedHeads(part=part, tokens=tokens, trees=kept)
    mask = None if tokens.mask.all() else tokens.mask
    trees = head_trees(tokens.tensor, mask=mask, settings=settings, on_progress=on_progress)
    part.save_result(trees, "head-trees", batch=batch)
    tell_remade(damaged)
    return OrganizedHeads(part=part, tokens=tokens, trees=trees)
