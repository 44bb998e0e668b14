"""An organisation as files that any program reads: a table per axis, and one .npz of plain arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haarbor.whole_file import whole_file

if TYPE_CHECKING:
    from haarbor.analysis import ResultTable
    from haarbor.questionnaire import Organization

__all__ = ["write_organization"]


def write_organization(
    folder: Path, found: Organization, columns: Mapping[str, Mapping[str, Sequence[Any]]] | None = None
) -> list[Path]:
    """Write trees, orders and maps of all axes into a folder, in place of older ones.

    Parameters
    ----------
    folder : Path
        Made if missing.
    found : Organization
    columns : mapping of axis to mapping of name to values, optional
        More columns for the table of an axis, one value for each item.

    Returns
    -------
    list of Path
        A table AXIS.csv for each axis, in the order of its tree, and organization.npz with the same
        numbers and the affinities.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    arrays: dict[str, Any] = {}
    for axis in found.axes:
        order, tree, places = found.order(axis), found.trees[axis], found.embedding(axis)
        table = _axis_table(axis, order, tree.levels, places, (columns or {}).get(axis, {}))
        written.append(folder / f"{axis}.csv")
        with whole_file(written[-1], "a table") as unfinished:
            unfinished.write_text(table.csv_text(), encoding="utf-8", newline="\n")
        arrays |= {
            f"{axis}_order": order,
            f"{axis}_tree": tree.levels,
            f"{axis}_map": places,
            f"{axis}_affinity": found.affinities[axis],
        }
    written.append(folder / "organization.npz")
    with whole_file(written[-1], "the organisation") as unfinished, unfinished.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return written


def _axis_table(
    axis: str, order: Any, levels: Any, places: Any, columns: Mapping[str, Sequence[Any]]
) -> ResultTable:
    from haarbor.analysis import ResultTable

    # The root holds all items and the last level each by itself: neither says anything.
    inner = range(1, levels.shape[0] - 1)
    rows = tuple(
        (
            int(item),
            *(values[item] for values in columns.values()),
            *(int(levels[level, item]) for level in inner),
            *(float(place) for place in places[item]),
        )
        for item in order
    )
    return ResultTable(
        name=axis,
        title=f"{axis} in the order of its tree",
        columns=(
            axis,
            *columns,
            *(f"folder_{level}" for level in inner),
            *(f"map_{number + 1}" for number in range(places.shape[1])),
        ),
        rows=rows,
        caption="",
    )
