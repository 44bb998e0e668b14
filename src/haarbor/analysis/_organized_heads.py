"""The logits of a batch of a run, with every head organised by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from haarbor.analysis._chosen_parts import checked_batch, chosen_parts
from haarbor.analysis._damaged_results import tell_remade, whole_result
from haarbor.analysis._head_trees import HeadSettings, HeadTrees, head_trees
from haarbor.analysis._valid_tokens import ValidTokens, valid_tokens
from haarbor.argument_kinds import require_function
from haarbor.errors import SettingError
from haarbor.store import Run

__all__ = ["OrganizedHeads", "organized_heads", "require_logits"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OrganizedHeads:
    """Logits of one batch without padding, and the trees of every head."""

    tokens: ValidTokens
    trees: HeadTrees
    stream: str


def require_logits(run: Run, batch: int, stream: str | None) -> None:
    """Raise unless the run has logits of this batch and stream."""
    chosen_parts(run, None, stream)
    if "logits" not in run.contents:
        raise SettingError(
            f"the run must hold logits, the scores before the softmax; it holds {', '.join(run.contents)}. "
            "Capture it again with haarbor capture --logits."
        )
    checked_batch(run, batch)


def organized_heads(
    run: Run,
    batch: int = 0,
    *,
    stream: str | None = None,
    settings: HeadSettings = "ours",
    on_progress: Callable[[int, int], None] | None = None,
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
    on_progress : function of (heads done, heads in all), optional

    Returns
    -------
    OrganizedHeads

    Raises
    ------
    SettingError
        If the run has no logits, or no such stream or batch.
    """
    require_logits(run, batch, stream)
    require_function("on_progress", on_progress)
    chosen = stream or run.streams[0]
    tokens = valid_tokens(run.tensor(batch, content="logits", stream=chosen), run.mask(batch, chosen))
    place: Any = {"batch": batch, "content": "logits", "stream": chosen}
    damaged: list[str] = []
    kept = whole_result(run, "head-trees", HeadTrees, damaged, **place)
    if kept is not None and kept.settings == settings:
        if on_progress is not None:
            on_progress(kept.heads.size, kept.heads.size)
        return OrganizedHeads(tokens=tokens, trees=kept, stream=chosen)
    mask = None if tokens.mask.all() else tokens.mask
    trees = head_trees(tokens.tensor, mask=mask, settings=settings, on_progress=on_progress)
    run.save_result(trees, "head-trees", **place)
    tell_remade(damaged)
    return OrganizedHeads(tokens=tokens, trees=trees, stream=chosen)
