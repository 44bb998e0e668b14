"""Checks of the run, the part of it and the batch that a function is called with."""

from __future__ import annotations

from collections.abc import Sequence

from haarbor.errors import SettingError
from haarbor.options import found_text, is_whole_number, require_kind
from haarbor.store import Run, RunPart

__all__ = ["asked_part", "checked_batch", "require_run"]


def asked_part(run: Run | RunPart, content: str | None = None, stream: str | None = None) -> RunPart:
    """Part of a run that the caller asks for; see :meth:`haarbor.store.Run.part`.

    Parameters
    ----------
    run : Run or RunPart
        A part is returned unchanged unless a content or stream is asked for.
    content : {"probabilities", "logits"}, optional
    stream : str, optional

    Raises
    ------
    SettingError
        If `run` is not a run, or does not hold what was asked for.
    """
    if isinstance(run, RunPart):
        if content is None and stream is None:
            return run
        run = run.run
    require_run(run)
    return run.part(content, stream)


def require_run(run: object) -> None:
    """Raise unless `run` is a Run.

    Raises
    ------
    SettingError
        If it is something else.
    """
    require_kind("run", run, Run, "Open it with haarbor.open_run(place).")


def checked_batch(run: Run, batch: int) -> int:
    """Return `batch` as an int if it is the number of a complete batch of the run.

    Raises
    ------
    SettingError
        If the run has no complete batch of that number.
    """
    there = run.batches
    if not is_whole_number(batch) or batch not in there:
        raise SettingError(
            f"batch must be a complete one, {_listed(there)}; found {found_text(batch)}. Choose one of these."
            if there
            else f"batch must be a complete one; the run has none, found {found_text(batch)}. Capture again."
        )
    return int(batch)


def _listed(batches: Sequence[int]) -> str:
    if len(batches) > 6:
        return f"{', '.join(map(str, batches[:3]))}, ... {batches[-1]}"
    return ", ".join(map(str, batches))
