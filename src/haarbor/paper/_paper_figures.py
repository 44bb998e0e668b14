"""Every figure and table of the paper, on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from haarbor.analysis import ResultTable, escaped
from haarbor.errors import SettingError
from haarbor.on_progress import OnProgress
from haarbor.options import require_function, require_path
from haarbor.paper._captions import paper_captions
from haarbor.paper._entropies_figure import paper_entropies_figure
from haarbor.paper._expansion_figure import paper_expansion_figure
from haarbor.paper._heads_figure import paper_heads_figure
from haarbor.paper._network_figure import paper_network_figure
from haarbor.paper._network_heading import network_heading
from haarbor.paper._paper_results import PaperResults, SoftmaxExample
from haarbor.paper._paper_tables import distinct_names, paper_tables
from haarbor.paper._structure_figure import paper_structure_figure
from haarbor.plots import paraproduct_figure, save_figure
from haarbor.store import save_results_file
from haarbor.whole_file import whole_file

__all__ = ["write_paper_figures"]

_RESULTS = "results.npz"
_PAGE = "figures.md"
_Drawing = Callable[[], Figure]


def write_paper_figures(
    results: Sequence[PaperResults],
    folder: str | os.PathLike[str],
    *,
    on_progress: OnProgress | None = None,
) -> list[Path]:
    """Draw the paper's figures as PNG and SVG, write its tables as CSV and Markdown.

    It also writes ``results.npz``, from which everything can be drawn again without the run, and
    ``figures.md``, a page with all figures, tables and captions. The same results give the same bytes.

    Parameters
    ----------
    results : sequence of PaperResults
        One per network, as from :func:`haarbor.paper.paper_results`.
    folder : str or path
        Made if missing; files of the same names are replaced.
    on_progress : function of (step, done, total), optional

    Returns
    -------
    list of pathlib.Path
        All files written.

    Raises
    ------
    SettingError
        If there is no network, or the folder cannot be made.

    See Also
    --------
    haarbor.paper.paper_results : What the paper shows, of a run.
    haarbor.paper.loaded_results : Results from a file.
    """
    tables = paper_tables(results)
    named = distinct_names(results)
    require_function("on_progress", on_progress)
    place = Path(require_path("the folder for the figures", folder))
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(
            f"the folder for the figures must be one that can be made; {error}. Choose another place."
        ) from None
    drawings = dict(_drawings(named))
    n_files = 2 * len(drawings) + 2 * len(tables) + 2
    written: list[Path] = []

    def done(path: Path) -> None:
        written.append(path)
        if on_progress is not None:
            on_progress("drawing", len(written), n_files)

    for name, draw in drawings.items():
        figure = draw()
        for ending in ("png", "svg"):
            done(save_figure(figure, place / f"{name}.{ending}"))
    for table in tables:
        for ending, text in (("csv", table.csv_text()), ("md", table.markdown_text())):
            done(_written(place / f"{table.name}.{ending}", text))
    done(_written(place / _PAGE, _page(named, tuple(drawings), tables)))
    done(save_results_file(list(results), place / _RESULTS))
    return written


def _drawings(results: Sequence[PaperResults]) -> Iterator[tuple[str, _Drawing]]:
    """Name of each figure and the function that draws it, so that only one figure is in memory at a time."""
    yield "figure1", lambda: paper_heads_figure(results)
    for number, found in enumerate(results, start=1):
        for example in found.softmax_examples:
            name = "figure2" if len(results) == 1 else f"figure2_{number}"
            yield name, partial(_softmax_figure, found, example)
    yield "figure3", lambda: paper_structure_figure(results)
    yield "figure4", lambda: paper_expansion_figure(results)
    yield "figure5", lambda: paper_entropies_figure(results)
    yield "figure6", lambda: paper_network_figure(results)


def _softmax_figure(found: PaperResults, example: SoftmaxExample) -> Figure:
    return paraproduct_figure(
        example.logits.astype(np.float64),
        example.trees["query"],
        example.trees["key"],
        mask=None if found.mask.all() else found.mask,
        title=f"{network_heading(found, content='logits')}: head {found.head_names[example.head]}",
    )


def _page(results: Sequence[PaperResults], figures: Sequence[str], tables: Sequence[ResultTable]) -> str:
    """Markdown page of all figures and tables."""
    captions = paper_captions(results)
    lines = ["# Figures and tables", ""]
    for found in results:
        shape = f"{found.trees['query'].n_items} x {found.trees['key'].n_items}"
        name = found.name if found.name == found.model else f"{found.name} ({found.model})"
        lines.append(
            f"- {escaped(name)}: {found.n_layers} layers, {found.n_heads} heads, {len(found.batches)} "
            f"batch{'es' if len(found.batches) > 1 else ''}, {found.content}; batch {found.batch} shown, "
            f"{shape} (query x key)."
        )
    for name in figures:
        number, _, network = name.removeprefix("figure").partition("_")
        which = f", {escaped(results[int(network) - 1].name)}" if network else ""
        lines += ["", f"## Figure {number}{which}", "", f"![Figure {number}]({name}.png)", ""]
        lines.append(escaped(captions[f"figure{number}"]))
    for table in tables:
        lines += ["", f"## {escaped(table.title.split('. ')[0])}", "", table.markdown_text().rstrip()]
    if captions["tables"]:
        lines += ["", escaped(captions["tables"])]
    return "\n".join(lines) + "\n"


def _written(path: Path, text: str) -> Path:
    with whole_file(path, "a table" if path.name != _PAGE else "the page of figures") as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")
    return path
