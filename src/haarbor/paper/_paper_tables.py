"""Tables 1 and 2 of the paper, and a table of controls that the paper does not have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haarbor.analysis import Cell, ResultTable
from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import SettingError
from haarbor.options import found_text
from haarbor.paper._paper_results import PAPER_BATCHES, PaperResults

__all__ = ["batches_note", "distinct_names", "paper_tables", "require_results"]

_PLACES = 3
_CONTROL_WORDS = {
    "shuffled_items": "same trees, items shuffled",
    "random_trees": "random trees, as many folders on each level",
    "shuffled_entries": "entries shuffled, organised afresh",
    "original_order": "original order, halved again and again",
    "same_shape_order": "original order, on trees of the same shape",
    "average_linkage": "average linkage of the slices",
    "ward_linkage": "Ward's linkage of the slices",
}


def paper_tables(results: Sequence[PaperResults]) -> tuple[ResultTable, ...]:
    """Tables of one or more networks, side by side.

    Parameters
    ----------
    results : sequence of PaperResults
        One per network.

    Returns
    -------
    tuple of ResultTable
        ``table1`` (heads most often in the top and bottom tenth), ``table1_stability``, ``table2``
        (network entropies) and, where controls were made, ``table3``.

    Raises
    ------
    SettingError
        If there is no network.

    See Also
    --------
    haarbor.paper.paper_results : What the paper shows, of a run.
    haarbor.paper.write_paper_figures : Figures and tables as files.
    """
    require_results(results)
    named = distinct_names(results)
    tables = [_frequent_heads(named), _stability(named), _network_entropies(named)]
    if any(found.controls for found in named):
        tables.append(_controls(named))
    return tuple(tables)


def require_results(results: object) -> None:
    """Raise unless `results` is a list with the results of at least one network.

    Raises
    ------
    SettingError
        If it is not.
    """
    listed = list(results) if isinstance(results, list | tuple) else None
    if listed is None or not all(isinstance(one, PaperResults) for one in listed):
        raise SettingError(
            f"results must be a list of PaperResults; found {found_text(results)}. "
            "Pass [haarbor.paper.paper_results(run)]."
        )
    if not listed:
        raise SettingError(
            "tables need the results of at least one network; found none. Pass what paper_results gave."
        )


def distinct_names(results: Sequence[PaperResults]) -> list[PaperResults]:
    """The same results; networks of the same name are numbered so that they can be told apart."""
    names = [found.name for found in results]
    seen: dict[str, int] = {}
    distinct = []
    for found in results:
        seen[found.name] = seen.get(found.name, 0) + 1
        again = names.count(found.name) > 1
        distinct.append(found.named(f"{found.name} ({seen[found.name]})") if again else found)
    return distinct


def batches_note(results: Sequence[PaperResults], part: str) -> str:
    """Sentence about the networks that have fewer batches than the paper shows; empty if there are none."""
    wanted = PAPER_BATCHES[part]
    few = [found for found in results if len(found.batches) < wanted]
    told = ", ".join(
        f"{found.name} has {len(found.batches)} batch{'es' if len(found.batches) > 1 else ''}"
        for found in few
    )
    return f" The paper shows {wanted} batches; {told}." if few else ""


def _frequent_heads(results: Sequence[PaperResults]) -> ResultTable:
    n_shown = PAPER_BATCHES["table1"]
    columns: list[str] = ["place"]
    cells: list[list[Cell]] = [[place + 1] for place in range(_PLACES)]
    for found in results:
        columns += [f"{found.name} {part}" for part in ("top", "top count", "bottom", "bottom count")]
        stability = found.stability(n_shown)
        mean = found.scores[:n_shown].mean(axis=0)
        highest = _most_often(stability.top_counts, -mean)
        lowest = _most_often(stability.bottom_counts, mean)
        for place in range(_PLACES):
            for heads, counts in ((highest, stability.top_counts), (lowest, stability.bottom_counts)):
                there = place < heads.size
                cells[place] += [
                    found.head_names[heads[place]] if there else None,
                    int(counts[heads[place]]) if there else None,
                ]
    numbers = ", ".join(f"{min(n_shown, len(found.batches))} ({found.name})" for found in results)
    return ResultTable(
        name="table1",
        title="Table 1. Heads most often among the tenth of highest and of lowest Haar entropy",
        columns=tuple(columns),
        rows=tuple(tuple(row) for row in cells),
        caption=f"Heads are written layer.head; counts are batches, of {numbers}. Ties go to the head "
        "of higher (top) or lower (bottom) mean entropy. How many heads have the full count is in the "
        "table of stability: three of them are a choice." + batches_note(results, "table1"),
    )


def _most_often(counts: IntArray, keys: FloatArray) -> IntArray:
    """Up to three heads with the largest counts above 0; of equal counts the smaller key comes first."""
    order = np.lexsort((keys, -counts))
    few: IntArray = order[counts[order] > 0][:_PLACES]
    return few


def _stability(results: Sequence[PaperResults]) -> ResultTable:
    rows: list[tuple[Cell, ...]] = []
    n_shown = PAPER_BATCHES["table1"]
    for found in results:
        # One row for the six batches that the paper shows, and one for all where there are more.
        for n_batches in sorted({min(n_shown, len(found.batches)), len(found.batches)}):
            stability = found.stability(n_batches)
            pairs = stability.kendall_tau[np.triu_indices(n_batches, 1)]
            rows.append(
                (
                    found.name, n_batches, found.n_heads, stability.set_size,
                    int((stability.top_counts == n_batches).sum()),
                    int((stability.bottom_counts == n_batches).sum()),
                    stability.mean_kendall_tau if n_batches > 1 else None,
                    float(pairs.min()) if pairs.size else None,
                    stability.mean_top_jaccard if n_batches > 1 else None,
                    stability.mean_bottom_jaccard if n_batches > 1 else None,
                    stability.set_size / (2 * found.n_heads - stability.set_size),
                )
            )  # fmt: skip
    return ResultTable(
        name="table1_stability",
        title="Table 1, continued. How far the rankings of the batches agree",
        columns=("network", "batches", "heads", "heads in a tenth", "in the top of every batch",
                 "in the bottom of every batch", "Kendall tau, mean", "Kendall tau, least",
                 "Jaccard of the tops, mean", "Jaccard of the bottoms, mean",
                 "Jaccard by chance"),
        rows=tuple(rows),
        caption="Over pairs of batches: rank correlation of the entropies of all heads, and overlap of the "
        "sets of heads in the top and bottom tenth (1: the same sets). Sets drawn at random overlap about "
        "as the last column says." + batches_note(results, "table1"),
    )  # fmt: skip


def _network_entropies(results: Sequence[PaperResults]) -> ResultTable:
    n_rows = min(PAPER_BATCHES["table2"], max(len(found.batches) for found in results))
    columns: list[str] = ["batch"]
    cells: list[list[Cell]] = [[place + 1] for place in range(n_rows)]
    means: list[Cell] = ["mean"]
    for found in results:
        columns += [f"{found.name} {part}" for part in ("H", "H/norm", "mean-removed")]
        entropies = found.network_entropies[:n_rows]
        table = [(entropy.raw, entropy.normalised, entropy.mean_removed) for entropy in entropies]
        for place in range(n_rows):
            cells[place] += list(table[place]) if place < len(table) else [None] * 3
        means += np.mean(table, axis=0).tolist()
    contents = {found.content for found in results}
    listed = "; ".join(f"{found.name}: {found.content}" for found in results)
    compared = (
        f"All of it is of {next(iter(contents))}."
        if len(contents) == 1
        else f"NOT comparable, not even normalised: the networks do not hold the same content ({listed})."
    )
    ks = sorted({entropy.k for found in results for entropy in found.network_entropies})
    return ResultTable(
        name="table2",
        title="Table 2. Haar entropy of the network",
        columns=tuple(columns),
        rows=(*(tuple(row) for row in cells), tuple(means)),
        caption=f"H is the l1 norm of the tri-Haar coefficients of the {' or '.join(map(str, ks))} product "
        "functions of largest support; it grows with the size and the scale of the tensor, so networks are "
        "compared by H/norm (H divided by the tensor's l2 norm) and by the same without the mean. "
        + compared + batches_note(results, "table2"),
    )  # fmt: skip


def _controls(results: Sequence[PaperResults]) -> ResultTable:
    rows: list[tuple[Cell, ...]] = []
    for found in results:
        for batch, controls in found.controls.items():
            rows.append(
                (found.name, int(batch), "organised", None, controls.organised, 1.0, None, None, None)
            )
            for control in controls.made:
                norms, ratios = getattr(controls, control), controls.ratios(control)
                several = ratios.size > 1
                rows.append(
                    (
                        found.name, int(batch), _CONTROL_WORDS[control], int(ratios.size),
                        float(norms.mean()), float(ratios.mean()),
                        float(ratios.std(ddof=1)) if several else None,
                        float(ratios.min()) if several else None, float(ratios.max()) if several else None,
                    )
                )  # fmt: skip
    return ResultTable(
        name="table3",
        title="Table 3. Coherence of the organised tensor against controls",
        columns=("network", "batch", "tensor and trees", "seeds", "l1 norm", "times organised", "sd",
                 "least", "largest"),
        rows=tuple(rows),
        caption="Coherence is the l1 norm of the tri-Haar expansion, lower is better; \"times organised\" is "
        "that of the control divided by that of the organised tensor, so above 1 the organisation is better. "
        "Only valid entries are shuffled. The original order is no random control: it is what one has "
        "without organising.",
    )  # fmt: skip
