"""haarbor demo: every step, from capture to report, on the two networks inside the package."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._named import named
from haarbor.on_progress import OnProgress

if TYPE_CHECKING:
    from haarbor.paper import PaperResults
    from haarbor.store import Run

__all__ = ["demo"]

_NETWORKS = {"transformer-xl": "Transformer-XL", "vision-transformer": "ViT"}


def demo(
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Folder for runs, figures, tables and report; made if missing.",
            callback=named,
        ),
    ] = "demo-output",
    batches: Annotated[
        int, typer.Option(metavar="N", min=1, max=40, help="Batches of text and of images.")
    ] = 6,
    tokens: Annotated[int, typer.Option(metavar="N", min=8, max=512, help="Tokens of text per batch.")] = 256,
    report: Annotated[bool, typer.Option(help="Write the interactive report (needs plotly).")] = True,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print files and key figures as JSON instead of sentences.")
    ] = False,
) -> None:
    """Try all of it on the two trained networks inside the package.

    A Transformer-XL reads Wikipedia articles and a Vision Transformer looks at photographs; every
    figure and table of the paper is made for them, and the page. Nothing is downloaded. A second call
    reuses what the first has captured and organised.

    Example: haarbor demo -o demo-output
    """
    from haarbor.cli._output_place import require_folder_place
    from haarbor.cli._said_line import say

    folder = Path(out)
    require_folder_place("--out", folder)
    say("Capturing, organising and drawing two networks; a minute or more, less if some of it is there ...")
    # Optional libraries are imported first: if one is missing, the long work below would be for nothing.
    from haarbor.cli._demo_runs import embedded_run
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._libraries import require_library
    from haarbor.cli._progress import shown_steps
    from haarbor.paper import paper_results, write_paper_figures

    if report:
        require_library("plotly.offline", user="a report", extra="report")
    began = time.perf_counter()
    runs: list[Run] = []
    results: list[PaperResults] = []
    summaries: list[dict[str, Any]] = []
    with shown_steps() as told:
        for name, title in _NETWORKS.items():
            advance = _named(told, title)
            location = folder / f"{name}.zarr"
            run = embedded_run(name, location, n_batches=batches, n_tokens=tokens, on_progress=advance)
            runs.append(run)
            advance("organising", 0, batches)
            found = paper_results(run, name=title, control_seeds=2, on_progress=advance)
            results.append(found)
            summaries.append({**found.summary(), "softmax": _softmax_medians(run, advance)})
        written = write_paper_figures(results, folder / "figures", on_progress=told)
        if report:
            written.append(_written_report(runs, folder / "report.html", told))
    seconds = time.perf_counter() - began
    if as_json:
        told_files = [str(path) for path in written]
        echo_json({"files": told_files, "networks": summaries, "seconds": seconds})
    else:
        _print(summaries, written, folder, seconds)


def _named(told: OnProgress, title: str) -> OnProgress:
    def advance(step: str, done: int, total: int | None) -> None:
        told(f"{title}: {step}", done, total)

    return advance


def _softmax_medians(run: Run, told: OnProgress) -> dict[str, float]:
    """Medians over the heads of how much of the softmax is explained; the run keeps all heads."""
    import numpy as np

    from haarbor.analysis import run_invariance

    found, _ = run_invariance(run, on_progress=told)
    return {name: float(np.nanmedian(found.figures[name])) for name in ("invariance", "exact")}


def _written_report(runs: list[Run], path: Path, told: OnProgress) -> Path:
    from haarbor.report import write_report

    told("report", 0, 1)
    write_report(runs, path)
    told("report", 1, 1)
    return path


def _print(summaries: list[dict[str, Any]], written: list[Path], out: Path, seconds: float) -> None:
    from rich.text import Text

    from haarbor.cli._demo_findings import findings
    from haarbor.cli._terminal import terminal
    from haarbor.printable import printable

    console = terminal()
    console.print()
    for sentence in findings(summaries):
        console.print(Text(sentence), soft_wrap=True)
    n_figures = sum(path.suffix == ".png" for path in written)
    places = [f"  figures and tables  {out / 'figures' / 'figures.md'}  ({n_figures} figures, PNG and SVG)"]
    if any(path.name == "report.html" for path in written):
        places.insert(0, f"  report              {out / 'report.html'}  (open it in a browser)")
    places.append(f"  runs                {out / 'transformer-xl.zarr'}, {out / 'vision-transformer.zarr'}")
    told = "\n".join(map(printable, places))
    console.print(Text(f"\n{told}\n\n{seconds:.0f} s."), soft_wrap=True)
