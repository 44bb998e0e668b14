"""Which content and stream of a run is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haarbor.errors import SettingError
from haarbor.options import found_text, is_whole_number, require_kind
from haarbor.store import Run

__all__ = ["checked_batch", "chosen_parts", "require_run"]


def chosen_parts(run: Run, content: str | None = None, stream: str | None = None) -> dict[str, Any]:
    """Content and stream by name; the usual ones are probabilities, if there are any, and the first stream.

    Parameters
    ----------
    run : Run
    content : {"probabilities", "logits"}, optional
    stream : str, optional

    Returns
    -------
    dict
        With "content" and "stream", as the methods of a run take them.

    Raises
    ------
    SettingError
        If `run` is no run, or does not hold what was asked for.
    """
    require_run(run)
    if content is not None and not (isinstance(content, str) and content in run.contents):
        raise SettingError(
            f"content must be one that the run holds, {' or '.join(run.contents)}; found "
            f"{found_text(content)}. Choose that, or leave it out."
        )
    if stream is not None and not (isinstance(stream, str) and stream in run.streams):
        raise SettingError(
            f"stream must be one of {', '.join(run.streams)}; found {found_text(stream)}. "
            "Choose one, or leave it out."
        )
    usual = "probabilities" if "probabilities" in run.contents else run.contents[0]
    return {
        "content": usual if content is None else content,
        "stream": run.streams[0] if stream is None else stream,
    }


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
