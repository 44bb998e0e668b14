"""What haarbor compare --training answers: checkpoints as a film."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haarbor.errors import SettingError

if TYPE_CHECKING:
    from rich.table import Table

    from haarbor.compare import TrainingFilm
    from haarbor.store import Run

__all__ = ["film_answer", "write_film"]

_MOST_STEPS = 10


def film_answer(
    runs: Sequence[Run],
    steps: Sequence[float] | None,
    collapses: Sequence[str] | None,
    options: dict[str, Any],
    *,
    out: str | None,
    as_json: bool,
) -> None:
    """Follow the checkpoints, write what was asked for, and print what was found."""
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._progress import shown_steps
    from haarbor.compare import training_film

    residuals = None if not collapses else [_collapse(place) for place in collapses]
    with shown_steps() as advance:
        film = training_film(runs, steps=steps or None, collapses=residuals, **options, on_progress=advance)
    written = [] if out is None else write_film(film, Path(out))
    if as_json:
        echo_json({**_numbers(film), "files": [str(path) for path in written]})
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from haarbor.cli._terminal import terminal
    from haarbor.printable import printable

    console = terminal()
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    columns = ("step", "entropy", "spread", "network", "sinks", "to last", "head tree", "structure")
    for column in columns:
        table.add_column(column, justify="right")
    for place, step in enumerate(film.steps):
        values = (
            film.entropies[place].mean(), film.entropies[place].std(), film.network_entropies[place],
            film.sink_rates[place], film.distances_to_last[place].mean(), film.tree_correlations[place],
            film.structure[place],
        )  # fmt: skip
        table.add_row(f"{step:g}", *(f"{value:.3g}" for value in values))
    console.print(table)
    if film.types:
        console.print(_types_table(film))
    for sentence in film.verdict():
        console.print(Text(printable(sentence)))
    for path in written:
        console.print(Text(printable(f"  {path}")))


def _collapse(place: str) -> Any:
    from haarbor.store import load_results_file

    kept = load_results_file(place)
    found = kept.get("trained") if isinstance(kept, dict) else kept
    if found is None:
        raise SettingError(
            f"--collapse must be a collapse.npz that haarbor collapse wrote; {place} holds no trained "
            "network. Make it again."
        )
    return found


def _numbers(film: TrainingFilm) -> dict[str, Any]:
    return {
        "names": list(film.names),
        "steps": film.steps.tolist(),
        "verdict": list(film.verdict()),
        "equal_weights": [list(names) for names in film.equal_weights],
        "trajectories": {name: values.tolist() for name, values in film.trajectories().items()},
        "half_way": {name: film.half_way(name) for name in film.trajectories()},
        "sink_rates": film.sink_rates.tolist(),
        "head_types": {name: counts.tolist() for name, counts in film.type_counts().items()},
    }


def _types_table(film: TrainingFilm) -> Table:
    """Heads of each type, a column per checkpoint; of many checkpoints some, evenly, and the last."""
    import numpy as np
    from rich import box
    from rich.table import Table

    n_steps = film.steps.size
    shown = np.unique(np.linspace(0, n_steps - 1, min(n_steps, _MOST_STEPS)).round().astype(int))
    table = Table(
        title="Heads of each type, by step", box=box.SIMPLE_HEAD, padding=(0, 0), title_justify="left"
    )
    table.add_column("type", no_wrap=True)
    for place in shown:
        table.add_column(f"{film.steps[place]:g}", justify="right", min_width=4)
    for name, counts in film.type_counts().items():
        table.add_row(name, *(str(int(counts[place])) for place in shown))
    return table


def write_film(film: TrainingFilm, folder: Path) -> list[Path]:
    """Write table, figure and result of a film into a folder, which is made if missing."""
    from haarbor.analysis import ResultTable
    from haarbor.cli._json_answer import without_nan
    from haarbor.plots import save_figure, training_figure
    from haarbor.store import save_results_file
    from haarbor.whole_file import whole_file

    folder.mkdir(parents=True, exist_ok=True)
    followed, types = film.trajectories(), film.type_counts()
    table = ResultTable(
        name="training",
        title="Training",
        columns=(
            "checkpoint",
            "step",
            *(name.replace(" ", "_") for name in followed),
            "share_of_sinks",
            *(f"heads_{name.replace(' ', '_').replace('-', '_')}" for name in types),
        ),
        rows=tuple(
            (
                name,
                float(film.steps[place]),
                *(without_nan(float(values[place])) for values in followed.values()),
                float(film.sink_rates[place]),
                *(int(counts[place]) for counts in types.values()),
            )
            for place, name in enumerate(film.names)
        ),
        caption="",
    )
    path = folder / "training.csv"
    with whole_file(path, "the table") as unfinished:
        unfinished.write_text(table.csv_text(), encoding="utf-8", newline="\n")
    figure = training_figure(film)
    drawn = [save_figure(figure, folder / f"training.{ending}") for ending in ("png", "svg")]
    return [path, *drawn, save_results_file(film, folder / "training.npz")]
