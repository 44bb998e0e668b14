"""haarbor invariance: measure how nearly the softmax of each head is a linear function of its logits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from haarbor.cli._named import named
from haarbor.cli._part_options import StreamOption

if TYPE_CHECKING:
    from haarbor.analysis import HeadTrees, RunInvariance, RunRegularity
    from haarbor.store import Run

__all__ = ["invariance"]

_CONTROLS = ("shuffled_trees", "shuffled_rows")
_SHOWN = 6


def invariance(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Folder or URL of a run with logits.", callback=named)
    ],
    batch: Annotated[int, typer.Option(metavar="N", min=0, help="The batch to look at.")] = 0,
    heads: Annotated[
        str | None,
        typer.Option(
            metavar="HEADS",
            help="Heads to draw, as 3.1,5.0 (layer.head); the closest and the farthest by default.",
            callback=named,
        ),
    ] = None,
    stream: StreamOption = None,
    settings: Annotated[
        str,
        typer.Option(
            metavar="ours|paper",
            help="How each head is organised: ours, or paper for the settings of the paper's program.",
        ),
    ] = "ours",
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Folder for table and figures; made if missing.",
            callback=named,
        ),
    ] = "invariance-output",
    figures: Annotated[
        bool, typer.Option(help="Write the table, and Figure 2 for some heads (needs matplotlib).")
    ] = True,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**63 - 1, help="Seed of the shuffled controls.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print every head as JSON.")] = False,
) -> None:
    """Measure how nearly the softmax of each head is linear.

    Every head of a run is organised by itself. For each: how much of the softmax the corrected
    paraproduct explains, the paper's form, the paper's form with all constants 1 (what softmax
    invariance claims), and the plain logits; with shuffled controls, and Hölder exponents organised
    against the order of the text. The results are kept in the run.

    Example: haarbor invariance run.zarr -o invariance
    """
    from haarbor.analysis import require_logits, run_invariance, run_regularity
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._libraries import require_library
    from haarbor.cli._output_place import require_folder_place
    from haarbor.cli._progress import shown_progress
    from haarbor.cli._run_checks import require_heads, require_writable
    from haarbor.cli._said_line import say
    from haarbor.store import open_run

    kind = checked_choice("--settings", settings, ("ours", "paper"))
    folder = Path(out)
    if figures:
        require_folder_place("--out", folder)
    opened = open_run(run)
    require_logits(opened, batch, stream)
    asked_heads = None if heads is None else require_heads(opened, stream, _words(heads))
    require_writable(opened)
    if figures:
        require_library("matplotlib", user="a figure", extra="report")
    sizes = opened.plan.stream(stream)
    say(f"Organising {sizes.n_layers * sizes.n_heads} heads, each by itself ...")
    asked: Any = {"stream": stream, "settings": kind, "seed": seed}
    with shown_progress("organising and measuring heads", None) as advance:
        found, trees = run_invariance(opened, batch, on_progress=advance, **asked)
    with shown_progress("Hölder exponents", None) as advance:
        regularity = run_regularity(opened, batch, on_progress=advance, **asked)
    drawn = _ends(found) if asked_heads is None else asked_heads
    rows = _rows(found, regularity)
    written: list[Path] = []
    if figures:
        folder.mkdir(parents=True, exist_ok=True)
        written.append(_written_table(rows, folder / "invariance.csv"))
        written += _drawn(opened, found, trees, drawn, folder)
    if as_json:
        summary = _summary(opened, found, regularity, rows, written)
        echo_json(summary)
    else:
        _print(opened, found, regularity, written)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _ends(found: RunInvariance) -> list[int]:
    """The heads closest to invariant and farthest from it, of those that could be measured."""
    order = found.order()
    measured = order[np.isfinite(found.figures["invariance"][order])]
    return [int(measured[0]), int(measured[-1])] if measured.size > 1 else [int(h) for h in measured]


def _drawn(run: Run, found: RunInvariance, trees: HeadTrees, heads: list[int], out: Path) -> list[Path]:
    from haarbor.analysis import valid_tokens
    from haarbor.plots import paraproduct_figure, save_figure

    tokens = valid_tokens(
        run.tensor(found.batch, content="logits", stream=found.stream), run.mask(found.batch, found.stream)
    )
    written = []
    for head in heads:
        label = found.labels[head]
        title = f"{run.model}, head {label}: invariance {found.figures['invariance'][head]:.2f}"
        figure = paraproduct_figure(
            tokens.tensor[:, :, head], *trees.trees(head), mask=tokens.mask, title=title
        )
        written += [save_figure(figure, out / f"softmax_head_{label}.{ending}") for ending in ("png", "svg")]
    return written


def _rows(found: RunInvariance, regularity: RunRegularity) -> list[dict[str, Any]]:
    """Everything that was measured, one row per head."""
    return [
        {
            "head": label,
            **{name: float(values[head]) for name, values in found.figures.items()},
            "shuffled_trees": {name: float(v[head]) for name, v in found.shuffled_trees.items()},
            "shuffled_rows": {name: float(v[head]) for name, v in found.shuffled_rows.items()},
            "logit_deviation": float(found.logit_deviation[head]),
            "haar_entropy": float(found.entropy[head]),
            "holder_organised": float(regularity.organised[head]),
            "holder_organised_error": float(regularity.organised_error[head]),
            "holder_text_order": float(regularity.natural[head]),
            "holder_shuffled": float(regularity.shuffled[head]),
        }
        for head, label in enumerate(found.labels)
    ]


def _written_table(rows: list[dict[str, Any]], path: Path) -> Path:
    """Write the rows as CSV, one line per head, with empty cells where a head could not be measured."""
    from haarbor.analysis import ResultTable
    from haarbor.cli._json_answer import without_nan
    from haarbor.whole_file import whole_file

    flat = []
    for row in rows:
        controls = {
            f"{control}_{name}": value for control in _CONTROLS for name, value in row[control].items()
        }
        flat.append({**{name: row[name] for name in row if name not in _CONTROLS}, **controls})
    table = ResultTable(
        name=path.stem,
        title="Softmax invariance of the heads",
        columns=tuple(flat[0]),
        rows=tuple(tuple(without_nan(value) for value in row.values()) for row in flat),
        caption="",
    )
    with whole_file(path, "the table") as unfinished:
        unfinished.write_text(table.csv_text(), encoding="utf-8", newline="\n")
    return path


def _summary(
    run: Run,
    found: RunInvariance,
    regularity: RunRegularity,
    rows: list[dict[str, Any]],
    written: list[Path],
) -> dict[str, Any]:
    return {
        "model": run.model,
        "stream": found.stream,
        "batch": found.batch,
        "settings": found.settings,
        "seed": found.seed,
        "closest_to_invariant": [found.labels[head] for head in found.order()[:_SHOWN]],
        "spearman_with_invariance": found.correlations(),
        "median": {name: float(np.nanmedian(values)) for name, values in found.figures.items()},
        "holder_raised_in": int(np.sum(regularity.gain > 0)),
        "holder_median_gain": float(np.nanmedian(regularity.gain)),
        "heads": rows,
        "files": [str(path) for path in written],
    }


def _print(run: Run, found: RunInvariance, regularity: RunRegularity, written: list[Path]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from haarbor.cli._terminal import terminal
    from haarbor.printable import printable

    console = terminal()
    order = found.order()
    n_heads = order.size
    console.print(
        Text(
            printable(
                f"{run.model}: {n_heads} heads on batch {found.batch} (stream {found.stream}; heads are "
                "written layer.head)."
            )
        )
    )
    table = Table(
        title="How much of the softmax is explained, closest to invariant first",
        caption="invar.: the paper's form with all constants 1, best affine fit: softmax invariance; "
        "logits: row-centred logits, best affine fit; corr.: corrected paraproduct with marginals; paper: "
        "the paper's form with boundary terms; 1 is all, 0 no better than uniform. spread: of the constants; "
        "std: of the logits; H: Haar entropy; alpha: Hölder exponent on the head's trees; text: in the order "
        "of the text.",
        box=box.SIMPLE_HEAD,
        padding=(0, 0),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("head", no_wrap=True)
    names = ("invar.", "logits", "corr.", "paper", "spread", "std", "H", "alpha", "text")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True, min_width=6)

    def cells(values: dict[str, Any], deviation: Any, entropy: Any, alpha: Any, natural: Any) -> list[str]:
        figures = (values[n] for n in ("invariance", "linear", "exact", "paper", "constant_deviation"))
        return [_number(x) for x in (*figures, deviation, entropy, alpha, natural)]

    shown = order if n_heads <= 2 * _SHOWN else np.concatenate([order[:_SHOWN], order[-_SHOWN:]])
    for place, head in enumerate(shown):
        if n_heads > 2 * _SHOWN and place == _SHOWN:
            table.add_row("...")
        values = {name: column[head] for name, column in found.figures.items()}
        more = (found.logit_deviation, found.entropy, regularity.organised, regularity.natural)
        table.add_row(found.labels[head], *cells(values, *(column[head] for column in more)))
    table.add_section()
    middle = {name: np.nanmedian(column) for name, column in found.figures.items()}
    table.add_row(
        "median", *cells(middle, *(np.nanmedian(c) for c in (
            found.logit_deviation, found.entropy, regularity.organised, regularity.natural))),
    )  # fmt: skip
    for label, control in (
        ("trees shuffled", found.shuffled_trees),
        ("rows shuffled", found.shuffled_rows),
    ):
        middle = {name: np.nanmedian(column) for name, column in control.items()}
        alpha = np.nanmedian(regularity.shuffled) if control is found.shuffled_trees else None
        table.add_row(label, *cells(middle, None, None, alpha, None))
    console.print(table)
    related = ", ".join(f"{name} {_number(value)}" for name, value in found.correlations().items())
    console.print(f"Rank correlation (Spearman) of invariance with: {related}.", highlight=False)
    raised = int(np.sum(regularity.gain > 0))
    console.print(
        f"Organising raises the Hölder exponent over the text order in {raised} of {n_heads} heads, by "
        f"{np.nanmedian(regularity.gain):+.2f} in the median.",
        highlight=False,
    )
    if written:
        console.print(Text(printable(f"Table and figures in {written[0].parent}:")))
        for path in written:
            console.print(Text(f"  {path.name}"))


def _number(value: float | None) -> str:
    return "" if value is None else "-" if not math.isfinite(value) else f"{value:.2f}"
