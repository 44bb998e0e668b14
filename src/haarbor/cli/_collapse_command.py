"""haarbor collapse: how nearly the tokens of a network become the same with depth."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from haarbor.cli._capture_options import DeviceOption, GgufOption, LinesOption
from haarbor.cli._model_argument import ModelArgument
from haarbor.cli._named import named

if TYPE_CHECKING:
    from haarbor.capturing import LoadedModel
    from haarbor.capturing.inputs import Samples
    from haarbor.collapse import NetworkPaths, RankCollapse

__all__ = ["collapse"]

_TOKENS = 256
_MOST_ROWS = 8


def collapse(
    model: ModelArgument,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Text file, .npy of token ids or images, folder of images, hub:DATASET, 'zoo' or 'random'; "
            "if not given, the text or the images in the package.",
            callback=named,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Folder for table, figure and results; made if missing.",
            callback=named,
        ),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help=f"Tokens per text; {_TOKENS} if not given, or as many as the model has places for.",
        ),
    ] = None,
    batches: Annotated[int, typer.Option(metavar="N", min=1, help="Number of texts or images.")] = 8,
    initial: Annotated[bool, typer.Option(help="Measure the network as it was before training, too.")] = True,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**63 - 1, help="Seed of the weights before training.")
    ] = 0,
    dtype: Annotated[
        str,
        typer.Option(
            metavar="float32|float64",
            help="Precision of the network; float64 follows the residual down to 1e-15, and takes longer.",
        ),
    ] = "float32",
    paths: Annotated[
        bool,
        typer.Option(
            "--paths",
            help="Take the output for the first text or image apart into paths through heads and skips, too.",
        ),
    ] = False,
    lines: LinesOption = False,
    gguf: GgufOption = None,
    device: DeviceOption = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print every number as JSON.")] = False,
) -> None:
    """Measure how nearly all tokens become the same with depth.

    After every layer: the residual of the tokens against the nearest matrix with equal rows, their stable
    and effective rank and mean cosine; for the network as it is, and without its skip connections, its
    MLPs, both, its normalisation, or all of these.

    Example: haarbor collapse zoo:vision-transformer -o collapse
    """
    from haarbor.cli._capture_paths import require_data, require_model
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._libraries import require_library
    from haarbor.cli._output_place import require_folder_place
    from haarbor.cli._progress import shown_steps
    from haarbor.cli._said_line import say

    precision = checked_choice("--dtype", dtype, ("float32", "float64"))
    require_model(model)
    if data is not None:
        require_data(data)
    if out is not None:
        require_folder_place("--out", Path(out))
        require_library("matplotlib", user="a figure", extra="report")
    say(f"Loading {model} ...")
    from haarbor.capturing import load_model
    from haarbor.collapse import initialised, rank_collapse

    loaded = load_model(model, gguf_file=gguf, device=device, dtype=precision)
    for note in loaded.notes:
        say(note)
    samples = _samples(loaded, data, tokens, batches, lines)
    untrained = initialised(loaded.model, seed=seed) if initial else None
    results: dict[str, RankCollapse] = {}
    with shown_steps() as advance:

        def told(name: str) -> Any:
            return lambda _step, done, total: advance(f"measuring, {name}", done, total)

        results["trained"] = rank_collapse(loaded.model, samples, on_progress=told("trained"))
        if untrained is not None:
            name = "at initialisation"
            results[name] = rank_collapse(untrained, samples, like=loaded.model, on_progress=told(name))
        taken = None
        if paths:
            from haarbor.collapse import network_paths

            taken = network_paths(loaded.model, next(iter(samples)), on_progress=advance)
    written = [] if out is None else _written(results, loaded.name, Path(out))
    if taken is not None and out is not None:
        written += _written_paths(taken, loaded.name, Path(out))
    if as_json:
        answer = {"model": loaded.name, "data": samples.description, "results": _numbers(results)}
        by_path = {} if taken is None else {"paths": _path_numbers(taken)}
        echo_json({**answer, **by_path, "files": [str(path) for path in written]})
    else:
        _print(results, loaded.name, samples.description)
        if taken is not None:
            _print_paths(taken)
        _print_files(written)


def _samples(
    loaded: LoadedModel, data: str | None, tokens: int | None, n_samples: int, lines: bool
) -> Samples:
    from haarbor.capturing.inputs import TokenInputs, named_samples
    from haarbor.errors import CollapseError

    takes: Any = loaded.takes
    if takes is None:
        raise CollapseError(
            f"{loaded.name} takes inputs that the command line does not make; call haarbor.rank_collapse "
            "from Python."
        )
    reads = isinstance(takes, TokenInputs) and loaded.tokenizer is not None
    usual = "zoo" if reads or loaded.images is not None else "random"
    most = getattr(takes, "max_tokens", None)
    return named_samples(
        data or usual,
        takes=takes,
        tokenizer=loaded.tokenizer,
        n_tokens=tokens or min(_TOKENS, most or _TOKENS),
        n_samples=n_samples,
        split="lines" if lines else "whole",
    )


def _numbers(results: dict[str, RankCollapse]) -> dict[str, Any]:
    """Medians over the samples at every depth, by weights, variant and figure."""
    from haarbor.collapse import FIGURES

    return {
        name: {
            "floor": result.floor,
            "n_tokens": result.n_tokens.tolist(),
            "variants": {
                variant: {figure: result.middle(figure, variant).tolist() for figure in FIGURES}
                for variant in result.variants
            },
        }
        for name, result in results.items()
    }


def _written(results: dict[str, RankCollapse], model: str, folder: Path) -> list[Path]:
    from haarbor.analysis import ResultTable
    from haarbor.cli._json_answer import without_nan
    from haarbor.collapse import FIGURES
    from haarbor.plots import collapse_figure, save_figure
    from haarbor.store import save_results_file
    from haarbor.whole_file import whole_file

    folder.mkdir(parents=True, exist_ok=True)
    rows = tuple(
        (name, variant, depth, *(without_nan(float(result.middle(f, variant)[depth])) for f in FIGURES))
        for name, result in results.items()
        for variant in result.variants
        for depth in range(result.n_layers + 1)
    )
    table = ResultTable(
        name="collapse",
        title="Rank collapse",
        columns=("weights", "variant", "layers_passed", *FIGURES),
        rows=rows,
        caption="",
    )
    with whole_file(folder / "collapse.csv", "the table") as unfinished:
        unfinished.write_text(table.csv_text(), encoding="utf-8", newline="\n")
    figure = collapse_figure(results, title=f"Rank collapse of {model}")
    drawn = [save_figure(figure, folder / f"collapse.{ending}") for ending in ("png", "svg")]
    kept = save_results_file(dict(results), folder / "collapse.npz")
    return [folder / "collapse.csv", *drawn, kept]


def _print(results: dict[str, RankCollapse], model: str, data: str) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from haarbor.cli._terminal import terminal
    from haarbor.printable import printable

    console = terminal()
    any_result = results["trained"]
    n_layers = any_result.n_layers
    console.print(
        Text(printable(f"{model}: {n_layers} layers, {any_result.n_tokens.size} samples ({data})."))
    )
    step = math.ceil(n_layers / _MOST_ROWS)
    depths = sorted({*range(0, n_layers + 1, step), n_layers})
    for name, result in results.items():
        table = Table(
            title=f"Residual relative to the tokens, {name}, after so many layers",
            box=box.SIMPLE_HEAD,
            padding=(0, 0),
            title_justify="left",
        )
        table.add_column("variant", no_wrap=True, min_width=18)
        for depth in depths:
            table.add_column(str(depth), justify="right", no_wrap=True, min_width=7)
        for variant in result.variants:
            middle = result.middle("composite", variant)
            table.add_row(variant, *(_number(middle[depth], result.floor) for depth in depths))
        console.print(table)
        last = "; ".join(
            f"{variant} {_plain(result.middle('effective_rank', variant)[-1])} and "
            f"{_plain(result.middle('cosine', variant)[-1])}"
            for variant in result.variants
        )
        console.print(Text(f"Effective rank and mean cosine at the end: {last}."))
        for variant in result.variants:
            place = result.lost(variant)
            if place is not None:
                console.print(
                    Text(f"{variant}: the tokens overflow or vanish after {place} layers; '-' from there on.")
                )
    console.print(
        Text(
            "Composite norm, median over the samples; 0 is all tokens the same. '0' stands for less than "
            f"{any_result.floor:.0e}, which is rounding."
        )
    )


def _print_files(written: list[Path]) -> None:
    from rich.text import Text

    from haarbor.cli._terminal import terminal
    from haarbor.printable import printable

    for path in written:
        terminal().print(Text(printable(f"  {path}")))


def _path_numbers(taken: NetworkPaths) -> dict[str, Any]:
    """Shares of the output by beginning and number of heads, and means over single paths."""
    return {
        "shares": {name: values.tolist() for name, values in taken.shares().items()},
        "n_paths": taken.tokens.n_paths.tolist(),
        "residual": taken.tokens.residual.tolist(),
        "residual_error": taken.tokens.residual_error.tolist(),
        "norm": taken.tokens.norm.tolist(),
        "norm_error": taken.tokens.norm_error.tolist(),
        "missing": taken.error,
    }


def _written_paths(taken: NetworkPaths, model: str, folder: Path) -> list[Path]:
    from haarbor.plots import path_figure, save_figure
    from haarbor.store import save_results_file

    figure = path_figure(taken, title=f"Paths through the heads of {model}")
    drawn = [save_figure(figure, folder / f"paths.{ending}") for ending in ("png", "svg")]
    return [*drawn, save_results_file(taken, folder / "paths.npz")]


def _print_paths(taken: NetworkPaths) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from haarbor.cli._terminal import terminal

    console = terminal()
    table = Table(
        title="Paths by the number of heads on them, first sample",
        box=box.SIMPLE_HEAD,
        padding=(0, 1),
        title_justify="left",
    )
    shares = {name: values for name, values in taken.shares().items() if values.any()}
    for column in ("heads", "paths", *(f"from {name}" for name in shares), "residual of one", "+-"):
        table.add_column(column, justify="right")
    found = taken.tokens
    for length in range(found.n_paths.size):
        row = [_plain(float(values[length])) for values in shares.values()]
        table.add_row(
            str(length), f"{found.n_paths[length]:.3g}", *row, _plain(found.residual[length]),
            _plain(found.residual_error[length]),
        )  # fmt: skip
    console.print(table)
    console.print(
        Text(
            "Norm of the sum of the paths over that of the output, by where they begin; parts cancel. All "
            f"paths together are the output, but for {taken.error:.0e} of it."
        )
    )


def _number(value: float, floor: float) -> str:
    if not math.isfinite(value):
        return "-"
    return "0" if value < floor else f"{value:.2g}" if value >= 0.001 else f"{value:.0e}"


def _plain(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"
