"""haarbor report: write one HTML page about the heads of a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._named import named
from haarbor.cli._part_options import ContentOption, StreamOption

if TYPE_CHECKING:
    from haarbor.store import RunPart

__all__ = ["report"]


def report(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN", help="Folder or URL of a run, or of two to put side by side.", callback=named
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="The page to write; an older one is written over.",
            callback=named,
        ),
    ] = "report.html",
    content: ContentOption = None,
    stream: StreamOption = None,
    batches: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Batches whose matrices are in the page; as many as fit into 15 MB by default.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write one HTML page about a run, or two side by side.

    The page needs no network and no server: open it from disk, or send it to a colleague. A run that has
    not been organised is organised first.

    Example: haarbor report run.zarr -o report.html
    """
    from haarbor.analysis import asked_part
    from haarbor.cli._heads_text import other_streams_text
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._libraries import require_library
    from haarbor.cli._output_place import require_file_place
    from haarbor.cli._said_line import say
    from haarbor.cli._size_text import size_text
    from haarbor.printable import printable
    from haarbor.report import write_report
    from haarbor.store import open_run

    if len(runs) > 2:
        raise typer.BadParameter(f"a report is of one run or of two; found {len(runs)}.", param_hint="RUN")
    require_file_place("--out", Path(out), "the report")
    opened = [open_run(place) for place in runs]
    parts = [asked_part(run, content, stream) for run in opened]
    for run in opened:
        run.require_tensors()
    require_library("plotly.offline", user="a report", extra="report")
    _organize_where_needed(parts, batches)
    say("Writing the page ...")
    n_bytes = write_report(parts, out, n_batches=batches)
    summary: dict[str, Any] = {
        "report": out,
        "bytes": n_bytes,
        "models": [run.model for run in opened],
        "heads": [part.sizes.n_layers * part.sizes.n_heads for part in parts],
    }
    if as_json:
        echo_json(summary)
    else:
        models = " and ".join(map(str, summary["models"]))
        typer.echo(printable(f"{out}: {models}, {size_text(n_bytes)}. Open it in a browser."))
        for part in parts:
            others = other_streams_text(part.run.plan, part.stream)
            if others is not None:
                typer.echo(printable(others))


def _organize_where_needed(parts: list[RunPart], n_shown: int | None) -> None:
    from haarbor.analysis import organize_run, question_before
    from haarbor.cli._diagnosed import diagnose
    from haarbor.cli._progress import shown_progress
    from haarbor.cli._run_checks import require_batches, require_writable
    from haarbor.cli._said_line import say
    from haarbor.report import is_organized

    for part in parts:
        require_batches(part.run)
    needed = [part for part in parts if not is_organized(part, n_shown)]
    for part in needed:
        require_writable(part.run)
    for part in needed:
        say(f"Organising {part.run.model} first ...")
        with shown_progress(f"organising {part.run.model}", part.run.n_batches) as advance:
            organize_run(part, **question_before(part).to_result(), on_progress=advance)
        diagnose(part)
