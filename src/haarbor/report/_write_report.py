"""Write the report of one run, or of two, as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence

from haarbor.analysis import asked_part, require_run
from haarbor.errors import SettingError
from haarbor.options import require_whole_number
from haarbor.report._commands import commands
from haarbor.report._page import page_html, room_for_runs
from haarbor.report._provenance import library_versions
from haarbor.report._run_payload import run_payload
from haarbor.store import Run, RunPart
from haarbor.whole_file import file_place, whole_file

__all__ = ["report_html", "write_report"]


def report_html(
    runs: Run | RunPart | Sequence[Run | RunPart],
    *,
    content: str | None = None,
    stream: str | None = None,
    n_batches: int | None = None,
) -> str:
    """Self-contained page about a run, or about two side by side.

    Parameters
    ----------
    runs : Run, RunPart, or a list of one or two of them
        Organised; see :func:`haarbor.analysis.organize_run`.
    content : {"probabilities", "logits"}, optional
    stream : str, optional
        The defaults are those of :meth:`haarbor.store.Run.part`.
    n_batches : int, optional
        How many batches come with the matrices of all their heads; as many as fit into 15 MB if not given,
        at least one. Everything else covers all batches.

    Returns
    -------
    str
        HTML; the same run gives the same text.

    Raises
    ------
    SettingError
        If there are more than two runs, or an option is not offered.
    DataError
        If a run is empty or not organised.

    See Also
    --------
    haarbor.report.write_report : Write the page.
    """
    asked = [runs] if isinstance(runs, Run | RunPart) else runs
    if not isinstance(asked, list | tuple):
        require_run(asked)
    if len(asked) not in (1, 2):
        raise SettingError(
            f"a report is of one run or of two; found {len(asked)}. Make a report of each, or of pairs."
        )
    if n_batches is not None:
        require_whole_number("n_batches", n_batches, 1)
    parts = [asked_part(run, content, stream) for run in asked]
    room = room_for_runs() // len(parts)
    payloads = [run_payload(part, n_batches, room) for part in parts]
    return page_html(payloads, {"versions": library_versions(), "commands": commands(parts, n_batches)})


def write_report(
    runs: Run | RunPart | Sequence[Run | RunPart],
    path: str | os.PathLike[str],
    *,
    content: str | None = None,
    stream: str | None = None,
    n_batches: int | None = None,
) -> int:
    """Write the page to a file, whole or not at all.

    Parameters
    ----------
    runs : Run, RunPart, or a list of one or two of them
    path : str or path
        An existing file is replaced; so is the file that a link leads to. Nothing else is overwritten.
    content, stream, n_batches
        As for :func:`report_html`.

    Returns
    -------
    int
        Bytes written.

    Raises
    ------
    StoreError
        If the file cannot be written. A device, a pipe or a folder is refused before the page is made.

    See Also
    --------
    haarbor.report.report_html : The page as text.
    haarbor.organize_run : Organise and score every batch of a run.
    """
    file_place(path, "the report")
    data = report_html(runs, content=content, stream=stream, n_batches=n_batches).encode("utf-8")
    with whole_file(path, "the report") as unfinished:
        unfinished.write_bytes(data)
    return len(data)
