"""haarbor report: one HTML page in which a person sees the heads of a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._named import named

if TYPE_CHECKING:
    from haarbor.store import Run

__all__ = ["report"]


def report(
    runs: Annotated[
        list[str],
        typer.Argument(help="Folder or URL of a run, or of two to put side by side.", callback=named),
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
    content: Annotated[
        str | None,
        typer.Option(help="probabilities or logits; probabilities if the run holds them.", callback=named),
    ] = None,
    stream: Annotated[
        str | None,
        typer.Option(help="self, encoder, decoder or cross; the first by default.", callback=named),
    ] = None,
    batches: Annotated[
        int,
        typer.Option(min=1, help="Batches whose matrices are in the page; more make it larger."),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write one self-contained HTML page about a run, or about two side by side.

    The page needs no network and no server: open it from disk, or send it to a colleague. A run that has
    not been organised is organised first.
    """
    from haarbor.analysis import chosen_parts
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._libraries import require_library
    from haarbor.cli._output_place import require_file_place
    from haarbor.printable import printable
    from haarbor.report import write_report
    from haarbor.store import open_run

    if len(runs) > 2:
        raise typer.BadParameter(f"a report is of one run or of two; found {len(runs)}.", param_hint="RUNS")
    require_file_place("--out", Path(out), "the report")
    opened = [open_run(place) for place in runs]
    chosen = [chosen_parts(run, content, stream) for run in opened]
    require_library("plotly.offline", user="a report", extra="report")
    _organize_where_needed(list(zip(opened, chosen, strict=True)), batches)
    n_bytes = write_report(opened, out, content=content, stream=stream, n_batches=batches)
    summary: dict[str, Any] = {
        "report": out,
        "bytes": n_bytes,
        "models": [run.model for run in opened],
        "heads": [run.n_heads for run in opened],
    }
    if as_json:
        echo_json(summary)
    else:
        models = " and ".join(map(str, summary["models"]))
        typer.echo(printable(f"{out}: {models}, {n_bytes / 1e6:.1f} MB. Open it in a browser."))


def _organize_where_needed(runs: list[tuple[Run, dict[str, Any]]], n_shown: int) -> None:
    from haarbor.analysis import organize_run
    from haarbor.cli._progress import shown_progress
    from haarbor.cli._run_checks import require_batches, require_writable
    from haarbor.report import asked_before, is_organized

    for run, _ in runs:
        require_batches(run)
    needed = [(run, chosen) for run, chosen in runs if not is_organized(run, chosen, n_shown)]
    for run, _ in needed:
        require_writable(run)
    for run, chosen in needed:
        with shown_progress(f"organising {run.model}", run.n_batches) as advance:
            organize_run(run, **asked_before(run, chosen), on_progress=advance, **chosen)
