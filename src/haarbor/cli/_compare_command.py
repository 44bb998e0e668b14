"""haarbor compare: which heads of two networks correspond, and whether the networks are alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._named import named
from haarbor.cli._part_options import ContentOption, StreamOption
from haarbor.cli._result_options import EveryNumberOption, FolderOption

if TYPE_CHECKING:
    from haarbor.compare import Comparison, RunComparison

__all__ = ["compare"]

_MATCHINGS = ("auto", "tokens", "geometry", "place")


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Folders or URLs of two runs or more.", callback=named),
    ],
    out: FolderOption = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="What a run is called; once for each, in their order.", callback=named
        ),
    ] = None,
    content: ContentOption = None,
    stream: StreamOption = None,
    matching: Annotated[
        str,
        typer.Option(
            metavar="|".join(_MATCHINGS),
            help="How heads are matched: by their attention on the same tokens, by their distances within "
            "each network, or by their place; auto takes the first that is possible.",
        ),
    ] = "auto",
    batches: Annotated[
        int, typer.Option(metavar="N", min=1, help="Batches in common that are looked at.")
    ] = 8,
    permutations: Annotated[
        int, typer.Option(metavar="N", min=1, max=10**6, help="Random pairings of each test.")
    ] = 999,
    training: Annotated[
        bool,
        typer.Option(
            "--training",
            help="The runs are checkpoints of one training, in order: show when trees, entropies and sinks "
            "appear.",
        ),
    ] = False,
    step: Annotated[
        list[float] | None,
        typer.Option(
            metavar="N",
            min=0,
            help="With --training, the step of a checkpoint, once for each; by default the number in its "
            "name.",
        ),
    ] = None,
    collapse: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="With --training, the collapse.npz of a checkpoint, once for each, for the residuals; by "
            "default what the runs keep of it.",
            callback=named,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**63 - 1, help="Seed of the random pairings.")
    ] = 0,
    as_json: EveryNumberOption = False,
) -> None:
    """Compare networks, checkpoints, or inputs of one network.

    Heads are matched, so that the matched ones are as near to each other as possible, and tested against
    pairs made by chance on tokens that the matching has not seen. Head trees, entropies, coherence and
    the alignment of layers (CKA) are compared, too. Runs of the same data say most. A run that is not
    organised yet is organised first; the result stays in the first run.

    Example: haarbor compare base.zarr finetuned.zarr -o compared

    Checkpoints: haarbor compare step-0.zarr step-100.zarr step-1000.zarr --training -o film
    """
    from haarbor.analysis import asked_part
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._libraries import require_library
    from haarbor.cli._output_place import require_folder_place
    from haarbor.cli._progress import shown_steps
    from haarbor.cli._run_checks import require_batches, require_writable
    from haarbor.cli._said_line import say
    from haarbor.store import open_run

    how: Any = checked_choice("--matching", matching, _MATCHINGS)
    if len(runs) < 2:
        raise typer.BadParameter("a comparison is of two runs or more; found one.", param_hint="RUN")
    if name and len(name) != len(runs):
        raise typer.BadParameter(
            f"must be given once for each of the {len(runs)} runs; found {len(name)}.", param_hint="--name"
        )
    for option, given in (("--step", step), ("--collapse", collapse)):
        if given and (not training or len(given) != len(runs)):
            raise typer.BadParameter(
                f"must be given once for each of the {len(runs)} runs, with --training; found {len(given)}.",
                param_hint=option,
            )
    if out is not None:
        require_folder_place("--out", Path(out))
        require_library("matplotlib", user="a figure", extra="report")
    opened = [open_run(place) for place in runs]
    for run in opened:
        asked_part(run, content, stream)
        require_batches(run)
        require_writable(run)
    say("Comparing; runs that are not organised are organised first ...")
    if training:
        from haarbor.cli._film_answer import film_answer

        options = {"content": content, "stream": stream, "n_batches": batches, "seed": seed}
        film_answer(opened, step, collapse, options, out=out, as_json=as_json)
        return
    from haarbor.compare import compare_runs

    with shown_steps() as advance:
        found = compare_runs(
            opened,
            names=name or None,
            content=content,
            stream=stream,
            matching=how,
            n_batches=batches,
            n_permutations=permutations,
            seed=seed,
            on_progress=advance,
        )
    written = [] if out is None else _written(found, Path(out))
    if as_json:
        echo_json({**_numbers(found), "files": [str(path) for path in written]})
    else:
        _print(found, written)


def _numbers(found: Comparison) -> dict[str, Any]:
    from haarbor.cli._json_answer import without_nan
    from haarbor.compare import verdict

    def number(value: float) -> Any:
        return without_nan(float(value))

    def told(pair: RunComparison) -> dict[str, Any]:
        return {
            "names": list(pair.names),
            "verdict": list(verdict(pair)),
            "same_weights": pair.same_weights,
            "tokens": pair.tokens,
            "batches": list(pair.batches),
            "matched_by": pair.method,
            "distance": number(pair.distance),
            "distance_over_chance": number(pair.relative_distance),
            "alikeness": None if pair.test is None else number(pair.test.alikeness),
            "p_value": _p_value(pair),
            "matching": [[pair.label(0, one), pair.label(1, two)] for one, two in pair.pairs],
            "heads_in_place": pair.n_in_place if pair.same_sizes else None,
            "head_trees": {
                "distance": number(pair.trees.distance),
                "cophenetic_correlation": number(pair.trees.cophenetic),
                "p_value": number(pair.trees.p_value),
                "levels": [number(value) for value in pair.trees.levels],
            },
            "entropy_correlation": number(pair.entropy_correlation),
            "network_entropy": [number(values.mean()) for values in pair.network_entropies],
            "coherence": None if pair.coherence is None else [number(value) for value in pair.coherence],
            "cka": None if pair.cka is None else [[number(value) for value in row] for row in pair.cka],
        }

    return {
        "names": list(found.names),
        "verdict": list(found.verdict()),
        "equal_weights": [list(names) for names in found.equal_weights],
        "distances_over_chance": [[number(value) for value in row] for row in found.distances()],
        "pairs": [told(pair) for pair in found.pairs],
    }


def _p_value(pair: RunComparison) -> float | None:
    if pair.test is not None:
        return pair.test.p_value
    return None if pair.geometry is None else pair.geometry[2]


def _written(found: Comparison, folder: Path) -> list[Path]:
    from haarbor.analysis import ResultTable
    from haarbor.cli._json_answer import without_nan
    from haarbor.plots import comparison_figure, save_figure
    from haarbor.store import save_results_file
    from haarbor.whole_file import whole_file

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for pair in found.pairs:
        for place, (one, two) in enumerate(pair.pairs):
            distance = None if pair.matched is None else float(pair.matched[place])
            entropies = [float(pair.entropies[side][head]) for side, head in ((0, one), (1, two))]
            rows.append((*pair.names, pair.label(0, one), pair.label(1, two), distance, *entropies))
    heads = ResultTable(
        name="matched-heads",
        title="Matched heads",
        columns=("first", "second", "head", "matched_head", "distance", "entropy", "matched_entropy"),
        rows=tuple(rows),
        caption="",
    )
    pairs = ResultTable(
        name="comparison",
        title="Comparison",
        columns=(
            "first", "second", "matched_by", "distance", "distance_over_chance", "alikeness", "p_value",
            "tree_distance", "cophenetic_correlation", "entropy_correlation",
        ),
        rows=tuple(
            (
                *pair.names,
                pair.method,
                without_nan(pair.distance),
                without_nan(float(pair.relative_distance)),
                None if pair.test is None else without_nan(pair.test.alikeness),
                _p_value(pair),
                without_nan(pair.trees.distance),
                without_nan(pair.trees.cophenetic),
                without_nan(pair.entropy_correlation),
            )
            for pair in found.pairs
        ),
        caption="",
    )  # fmt: skip
    written = []
    for table in (pairs, heads):
        path = folder / f"{table.name}.csv"
        with whole_file(path, "the table") as unfinished:
            unfinished.write_text(table.csv_text(), encoding="utf-8", newline="\n")
        written.append(path)
    figure = comparison_figure(found)
    written += [save_figure(figure, folder / f"comparison.{ending}") for ending in ("png", "svg")]
    return [*written, save_results_file(found, folder / "comparison.npz")]


def _print(found: Comparison, written: list[Path]) -> None:
    from rich.text import Text

    from haarbor.cli._terminal import terminal
    from haarbor.printable import printable

    console = terminal()
    for sentence in found.verdict():
        # Names come from files: they must not control the terminal or the layout.
        console.print(Text(printable(sentence)))
    if len(found.pairs) == 1:
        (pair,) = found.pairs
        if pair.method != "place" and pair.distance > 0:
            order = range(len(pair.pairs)) if pair.matched is None else pair.matched.argsort()[:8]
            shown = ", ".join(
                f"{pair.label(0, pair.pairs[place, 0])} {pair.label(1, pair.pairs[place, 1])}"
                for place in list(order)[:8]
            )
            what = "Matched heads" if pair.matched is None else "Nearest matched heads"
            console.print(Text(f"{what}: {shown}."))
        if pair.tokens == "taken to be the same":
            console.print(
                Text("Neither labels nor pictures tell whether both runs saw the same tokens; shapes agree.")
            )
    for path in written:
        console.print(Text(printable(f"  {path}")))
