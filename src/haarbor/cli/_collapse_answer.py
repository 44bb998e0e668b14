"""What haarbor collapse answers: tables, lines, files and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from haarbor.collapse import NetworkBound, NetworkPaths, RankCollapse

__all__ = [
    "collapse_numbers",
    "path_numbers",
    "print_collapse",
    "print_paths",
    "write_collapse",
    "write_paths",
]

# As many columns of depths as a terminal of 80 letters has room for.
_MOST_DEPTHS = 7


def collapse_numbers(
    results: Mapping[str, RankCollapse], bounds: Mapping[str, NetworkBound]
) -> dict[str, Any]:
    """Medians over the samples at every depth, by weights, variant and figure; and the bound."""
    from haarbor.collapse import FIGURES

    return {
        name: {
            "floor": result.floor,
            "n_tokens": result.n_tokens.tolist(),
            "variants": {
                variant: {figure: result.middle(figure, variant).tolist() for figure in FIGURES}
                for variant in result.variants
            },
            "bound": {
                "log10_relative": bounds[name].relative(result).tolist(),
                "in_words": bounds[name].words(result),
            },
        }
        for name, result in results.items()
    }


def write_collapse(
    results: Mapping[str, RankCollapse], bounds: Mapping[str, NetworkBound], model: str, folder: Path
) -> list[Path]:
    """Write table, figure and results into a folder, which is made if missing."""
    from haarbor.analysis import ResultTable
    from haarbor.cli._json_answer import without_nan
    from haarbor.collapse import BOUNDED, FIGURES
    from haarbor.plots import collapse_figure, save_figure
    from haarbor.store import save_results_file
    from haarbor.whole_file import whole_file

    folder.mkdir(parents=True, exist_ok=True)
    log10_bounds = {name: bounds[name].relative(result) for name, result in results.items()}
    rows = tuple(
        (
            name,
            variant,
            depth,
            *(without_nan(float(result.middle(f, variant)[depth])) for f in FIGURES),
            without_nan(float(log10_bounds[name][depth])) if variant == BOUNDED else None,
        )
        for name, result in results.items()
        for variant in result.variants
        for depth in range(result.n_layers + 1)
    )
    table = ResultTable(
        name="collapse",
        title="Rank collapse",
        columns=("weights", "variant", "layers_passed", *FIGURES, "log10_bound"),
        rows=rows,
        caption="",
    )
    with whole_file(folder / "collapse.csv", "the table") as unfinished:
        unfinished.write_text(table.csv_text(), encoding="utf-8", newline="\n")
    figure = collapse_figure(results, bounds=bounds, title=f"Rank collapse of {model}")
    drawn = [save_figure(figure, folder / f"collapse.{ending}") for ending in ("png", "svg")]
    kept = save_results_file(dict(results), folder / "collapse.npz")
    return [folder / "collapse.csv", *drawn, kept]


def print_collapse(
    results: Mapping[str, RankCollapse], bounds: Mapping[str, NetworkBound], model: str, data: str
) -> None:
    """Print the residuals as a table, and what else there is in lines."""
    import numpy as np
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
    step = math.ceil(n_layers / _MOST_DEPTHS)
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
        bound = bounds[name].relative(result)
        if np.isfinite(bound).any():
            table.add_row("  its bound", *(_bound(bound[depth], result.floor) for depth in depths))
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
        console.print(Text(bounds[name].words(result)))
    console.print(
        Text(
            "Composite norm, median over the samples; 0 is all tokens the same. '0' stands for less than "
            f"{any_result.floor:.0e}, which is rounding."
        )
    )


def path_numbers(taken: NetworkPaths) -> dict[str, Any]:
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


def write_paths(taken: NetworkPaths, model: str, folder: Path) -> list[Path]:
    """Write the figure of the paths and the paths themselves into a folder."""
    from haarbor.plots import path_figure, save_figure
    from haarbor.store import save_results_file

    figure = path_figure(taken, title=f"Paths through the heads of {model}")
    drawn = [save_figure(figure, folder / f"paths.{ending}") for ending in ("png", "svg")]
    return [*drawn, save_results_file(taken, folder / "paths.npz")]


def print_paths(taken: NetworkPaths) -> None:
    """Print what the paths of each length carry."""
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


def _bound(log10: float, floor: float) -> str:
    if not math.isfinite(log10):
        return "-"
    return "0" if log10 < math.log10(floor) else _number(10.0 ** min(log10, 300.0), floor)


def _plain(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "-"
