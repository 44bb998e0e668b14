"""haarbor figures: the paper's figures and tables, for any run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._named import named
from haarbor.cli._part_options import ContentOption, StreamOption
from haarbor.cli._told_apart import TOGETHER_ADVICE, are_told_apart, together_text
from haarbor.errors import SettingError

if TYPE_CHECKING:
    from haarbor.paper import PaperResults
    from haarbor.store import Run

__all__ = ["figures"]


def figures(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN",
            help="Runs (folders or URLs), or a results.npz that this command wrote.",
            callback=named,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Folder for figures and tables; made if missing.",
            callback=named,
        ),
    ],
    content: ContentOption = None,
    stream: StreamOption = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, help="Batch shown in figures of a single batch; the first by default."
        ),
    ] = None,
    heads: Annotated[
        str | None,
        typer.Option(
            metavar="HEADS",
            help="Heads of figure 1 as layer.head, such as 3.1,5.0; by default those that gain most by "
            "being organised, from three depths.",
            callback=named,
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What a network is called in the figures; once for each, in their order.",
            callback=named,
        ),
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=1000, help="Random controls of table 3; 0 leaves the table out."
        ),
    ] = 5,
    control_batches: Annotated[
        int, typer.Option(metavar="N", min=1, help="Batches on which the controls are made.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print files and key figures as JSON.")] = False,
) -> None:
    """Make the figures and tables of the paper for runs.

    Figures 1 to 6 as PNG and SVG (figure 2 where a run holds logits), tables 1 to 3 as CSV and
    Markdown, figures.md with everything and its captions; of every run also the types of its heads and a
    table of all scores of its heads. A run that is not organised yet is
    organised first; the results stay in it.

    Several runs are put side by side. The figures and tables of the paper can be made again without the runs,
    from the results.npz among the files.

    Where a run keeps a comparison with others, a film of its training, or the rank collapse and paths of its
    network, that is drawn, too.

    Example: haarbor figures run.zarr -o figures

    Again: haarbor figures figures/results.npz -o again
    """
    # Imported first: without matplotlib the long work below would be for nothing.
    from haarbor.analysis import asked_part
    from haarbor.cli._drawn_comparisons import drawn_comparisons
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._output_place import require_folder_place
    from haarbor.cli._progress import shown_progress
    from haarbor.cli._said_line import say
    from haarbor.paper import write_paper_figures

    require_folder_place("--out", Path(out))
    choices = {
        "content": content,
        "stream": stream,
        "batch": batch,
        "heads": None if heads is None else [head.strip() for head in heads.split(",") if head.strip()],
    }
    opened = _opened(runs, choices)
    n_networks = sum(len(found) if isinstance(found, list) else 1 for found in opened)
    if name and len(name) != n_networks:
        raise typer.BadParameter(
            f"must be given once for each of the {n_networks} networks; found {len(name)}.",
            param_hint="--name",
        )
    say("Measuring, which takes a while the first time, and drawing ...")
    results = _gathered(opened, choices, {"control_seeds": seeds, "control_batches": control_batches})
    if name:
        results = [found.named(one) for found, one in zip(results, name, strict=True)]
    with shown_progress("drawing", None) as advance:
        written = write_paper_figures(results, out, on_progress=advance)
    written += _head_types(opened, choices, Path(out))
    written += drawn_comparisons(
        [asked_part(run, content, stream) for run in opened if not isinstance(run, list)], Path(out)
    )
    if as_json:
        networks = [found.summary() for found in results]
        echo_json({"files": [str(path) for path in written], "networks": networks})
    else:
        _print(results, written)


def _opened(places: list[str], choices: dict[str, Any]) -> list[Run | list[PaperResults]]:
    """Open all runs and results files, in the order given, and check the options against them."""
    from haarbor.analysis import asked_part, checked_batch
    from haarbor.cli._run_checks import (
        require_batches,
        require_heads,
        require_writable,
    )
    from haarbor.paper import loaded_results
    from haarbor.store import open_run

    files = [place for place in places if place.endswith(".npz")]
    given = [f"--{option}" for option, value in choices.items() if value is not None]
    if len(files) == len(places) and given:
        raise SettingError(
            f"{' and '.join(given)} cannot be changed in {', '.join(files)}; what it shows was chosen when "
            "it was made. Pass the run instead."
        )
    opened = [loaded_results(place) if place in files else open_run(place) for place in places]
    for run in opened:
        if not isinstance(run, list):
            asked_part(run, choices["content"], choices["stream"])
            require_batches(run)
            if choices["batch"] is not None:
                checked_batch(run, choices["batch"])
            if choices["heads"] is not None:
                require_heads(run, choices["stream"], choices["heads"])
            require_writable(run)
    return opened


def _gathered(
    opened: list[Run | list[PaperResults]], choices: dict[str, Any], controls: dict[str, Any]
) -> list[PaperResults]:
    """Results of all runs and results files, in the order given."""
    from haarbor.cli._progress import shown_steps
    from haarbor.paper import paper_results

    results: list[PaperResults] = []
    with shown_steps() as told:
        for number, run in enumerate(opened):
            if isinstance(run, list):
                results += run
                continue
            before = f"{number + 1}/{len(opened)} " if len(opened) > 1 else ""

            def advance(what: str, done: int, total: int | None, *, before: str = before) -> None:
                told(before + what, done, total)

            results.append(paper_results(run, **choices, **controls, on_progress=advance))
    return results


def _head_types(opened: list[Run | list[PaperResults]], choices: dict[str, Any], folder: Path) -> list[Path]:
    """Figure of the types of the heads and table of all their scores, for every run."""
    from haarbor.analysis import asked_part
    from haarbor.cli._diagnosed import diagnose
    from haarbor.diagnostics import heads_table, run_types
    from haarbor.plots import head_types_figure, save_figure
    from haarbor.whole_file import whole_file

    written: list[Path] = []
    for number, run in enumerate(opened, start=1):
        if isinstance(run, list):
            continue
        part = asked_part(run, choices["content"], choices["stream"])
        diagnose(part)
        types = run_types(part)
        after = "" if len(opened) == 1 else f"_{number}"
        if types:
            layers = [head // part.sizes.n_heads for head in range(len(types))]
            figure = head_types_figure(types, head_layers=layers, title=f"Types of the heads of {run.model}")
            written += [
                save_figure(figure, folder / f"head_types{after}.{ending}") for ending in ("png", "svg")
            ]
        table = heads_table(part)
        for ending, text in (("csv", table.csv_text()), ("md", table.markdown_text())):
            place = folder / f"{table.name}{after}.{ending}"
            with whole_file(place, "the table of scores") as unfinished:
                unfinished.write_text(text, encoding="utf-8", newline="\n")
            written.append(place)
    return written


def _print(results: list[PaperResults], written: list[Path]) -> None:
    from rich.text import Text

    from haarbor.cli._terminal import terminal
    from haarbor.printable import printable

    console = terminal()
    for found in results:
        summary = found.summary()
        # Names come from files: they must not control the terminal or the layout.
        title = Text(f"\n{printable(found.name)}", style="bold")
        console.print(title, Text(_what(summary)), sep="", soft_wrap=True)
        for sentence in _facts(summary):
            console.print(Text(f"  {sentence}"), soft_wrap=True)
    drawn = [path.stem for path in written if path.suffix == ".png"]
    tables = [path.stem for path in written if path.suffix == ".csv"]
    folder = written[0].parent
    told = (
        f"\n{len(written)} files in {folder}: {', '.join(drawn)}; {', '.join(tables)}.\n"
        f"Look at {folder / 'figures.md'}; draw again with "
        f"haarbor figures {folder / 'results.npz'} -o FOLDER."
    )
    console.print(Text(printable(told, keep="\n")), soft_wrap=True)


def _what(summary: dict[str, Any]) -> str:
    n_batches = len(summary["batches"])
    return (
        f": {summary['n_layers']} layers, {summary['n_heads']} heads, {n_batches} "
        f"batch{'es' if n_batches > 1 else ''} of {summary['n_queries']} x {summary['n_keys']}, "
        f"{summary['content']}."
    )


def _facts(summary: dict[str, Any]) -> list[str]:
    """The most important numbers, in sentences."""

    def told(entries: list[dict[str, Any]]) -> str:
        return ", ".join(f"{entry['head']} ({entry['entropy']:.3g})" for entry in entries)

    least, most = (summary[f"{end}_entropy"][0]["entropy"] for end in ("lowest", "highest"))
    if not are_told_apart(least, most):
        return [together_text(least, most), TOGETHER_ADVICE]
    facts = [
        f"Most coarse structure (highest Haar entropy): heads {told(summary['highest_entropy'])}; least: "
        f"{told(summary['lowest_entropy'])}."
    ]
    if summary["mean_kendall_tau"] is not None:
        facts.append(
            f"Rankings of the batches agree with Kendall tau {summary['mean_kendall_tau']:.2f}; of "
            f"{summary['heads_in_a_tenth']} heads in a tenth, {summary['always_in_top']} are in the top and "
            f"{summary['always_in_bottom']} in the bottom of every batch."
        )
    ratios = summary["coherence_of_controls_over_organised"]
    if ratios is not None:
        plain = ratios["original_order"]
        facts.append(
            f"Coherence: the l1 norm is {ratios['shuffled_items']:.2f} times as large with the items of the "
            f"trees shuffled, {ratios['random_trees']:.2f} times on random trees, "
            f"{ratios['shuffled_entries']:.2f} times with the entries shuffled and organised afresh, and "
            f"{plain:.2f} times in the original order{' (which is better)' if plain < 1 else ''}."
        )
    return facts
