"""haarbor report: one HTML page in which a person sees the heads of a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from haarbor.store import Run

__all__ = ["report"]


def report(
    runs: Annotated[list[str], typer.Argument(help="Folder or URL of a run, or of two to put side by side.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The page to write; an older one is written over.")
    ] = Path("report.html"),
    content: Annotated[
        str | None, typer.Option(help="probabilities or logits; probabilities if the run holds them.")
    ] = None,
    stream: Annotated[
        str | None, typer.Option(help="self, encoder, decoder or cross; the first by default.")
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
    from haarbor.report import write_report
    from haarbor.store import open_run
    from haarbor.whole_file import file_place

    if len(runs) > 2:
        raise typer.BadParameter(f"a report is of one run or of two; found {len(runs)}.", param_hint="RUNS")
    if not out.parent.is_dir():
        raise typer.BadParameter(f"the folder {out.parent} does not exist.", param_hint="--out")
    file_place(out, "the report")
    opened = [open_run(place) for place in runs]
    for run in opened:
        _organise_where_needed(run, content, stream)
    n_bytes = write_report(opened, out, content=content, stream=stream, n_batches=batches)
    summary: dict[str, Any] = {
        "report": str(out),
        "bytes": n_bytes,
        "models": [run.model for run in opened],
        "heads": [run.n_heads for run in opened],
    }
    if as_json:
        typer.echo(json.dumps(summary, indent=2))
    else:
        typer.echo(f"{out}: {' and '.join(summary['models'])}, {n_bytes / 1e6:.1f} MB. Open it in a browser.")


def _organise_where_needed(run: Run, content: str | None, stream: str | None) -> None:
    from haarbor.analysis import organize_run
    from haarbor.cli.progress import shown_progress
    from haarbor.report import chosen_parts, is_organised, options_before

    chosen = chosen_parts(run, content, stream)
    if run.batches and is_organised(run, chosen):
        return
    with shown_progress(f"organising {run.model}", run.n_batches) as advance:
        organize_run(run, options=options_before(run, chosen), on_progress=advance, **chosen)
