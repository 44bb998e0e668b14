"""The part of a run that a function is asked for, and the batch."""

from __future__ import annotations

from collections.abc import Sequence

from haarbor.errors import SettingError
from haarbor.options import found_text, is_whole_number, require_kind
from haarbor.store import Run, RunPart

__all__ = ["asked_part", "checked_batch", "require_run"]


def asked_part(run: Run | RunPart, content: str | None = None, stream: str | None = None) -> RunPart:
    """Part of a run that is asked for; see :meth:`haarbor.store.Run.part`.

    Parameters
    ----------
    run : Run or RunPart
        A part is taken as it is where neither content nor stream is asked for.
    content : {"probabilities", "logits"}, optional
    stream : str, optional

    Raises
    ------
    SettingError
        If `run` is no run, or does not hold what was asked for.
    """
    if isinstance(run, RunPart):
        if content is None and stream is None:
            return run
        run = run.run
    require_run(run)
    return run.part(content, stream)


def require_run(run: object) -> None:
    """Raise unless `run` is one.

    Raises
    ------
    SettingError
        If it is not.
    """
    require_kind("run", run, Run, "Open it with haarbor.open_run(place).")


def checked_batch(run: Run, batch: int) -> int:
    """`batch` if it is a complete one of the run.

    Raises
    ------
    SettingError
        If it is not.
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
