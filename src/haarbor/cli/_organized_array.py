"""haarbor organize of an array file: a run where it holds attention, trees and maps for any array."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haarbor.cli._array_file import ArrayFile
from haarbor.cli._organization_files import write_organization
from haarbor.cli._said_line import say
from haarbor.errors import HaarborError, SettingError, StoreError

if TYPE_CHECKING:
    from haarbor.questionnaire import Organization
    from haarbor.store import Run, RunPart

__all__ = [
    "array_lines",
    "imported_run",
    "organized_tensor",
    "require_no_array_options",
    "write_run_tables",
]


def imported_run(
    read: ArrayFile, place: Path, *, content: str | None, heads_per_layer: int | None, causal: bool
) -> Run:
    """Make a run of an array file that holds attention, or use the one that was made of it before.

    Parameters
    ----------
    read : ArrayFile
    place : Path
    content : {"probabilities", "logits"} or None
        What the array holds; found by its signs if None.
    heads_per_layer : int or None
    causal : bool
        Whether a query sees no later keys.

    Returns
    -------
    Run

    Raises
    ------
    HaarborError
    """
    from haarbor.store import import_arrays

    options: dict[str, Any] = {
        "heads_per_layer": heads_per_layer,
        "mask": "causal" if causal else None,
        "model": read.path.stem,
    }
    if isinstance(read.source, Mapping):
        source: Any = read.source
        options |= {"axes": read.axes} if read.axes else {}
        options["content"] = content
    else:
        source, options["axes"] = read.with_heads()
        options["content"] = content or read.content()
        if content is None and options["content"] == "logits":
            say("There are negative numbers in it: it is taken for logits, the scores before the softmax.")
    there, folder_there = place.exists(), place.parent.exists()
    try:
        return import_arrays(source, place, **options)
    except HaarborError as error:
        if not there:
            # Nothing was there before: what is begun now must not stand in the way of the next try.
            shutil.rmtree(place, ignore_errors=True)
            if not folder_there:
                with contextlib.suppress(OSError):
                    place.parent.rmdir()
        if not there or not isinstance(error, StoreError) or " is " not in str(error):
            raise
        raise StoreError(
            f"{place} must be empty, or hold the run of the same array and options; it holds another. Choose "
            "another --out, or remove it."
        ) from error


def organized_tensor(read: ArrayFile, options: Mapping[str, Any]) -> Organization:
    """Organise an array that is no attention, such as a matrix."""
    from haarbor.questionnaire import organize

    return organize(np.asarray(read.source), read.axes, **options)


def array_lines(read: ArrayFile, found: Organization) -> list[str]:
    """What was found in an array that is no attention, in sentences.

    Parameters
    ----------
    read : ArrayFile
    found : Organization

    Returns
    -------
    list of str
    """
    state = "they settled" if found.converged else "they had not settled yet; more --iterations may help"
    if found.period > 1:
        state = f"they go round in {found.period}, which more iterations do not end"
    plural = "" if found.n_iterations == 1 else "s"
    lines = [
        f"{read.path.name}: a tree for each axis, after {found.n_iterations} iteration{plural}; {state}."
    ]
    for axis in found.axes:
        tree = found.trees[axis]
        groups = tree.folders(min(1, tree.n_levels - 1))
        sizes = sorted((len(group) for group in groups), reverse=True)
        shown = ", ".join(map(str, sizes[:8])) + (", ..." if len(sizes) > 8 else "")
        split = f"{len(groups)} groups at the top, of {shown}" if len(groups) > 1 else "one group"
        lines.append(f"  {axis}: {tree.n_items} items, {tree.n_levels} levels; {split}.")
    return lines


def write_run_tables(run: Run, folder: Path, content: str, stream: str) -> list[Path]:
    """Tables of all batches of an organised run: in the folder for one batch, else in a folder for each."""
    from haarbor.head_labels import head_labels

    part = run.part(content, stream)
    sizes = run.plan.stream(stream)
    labels = head_labels(sizes.n_layers, sizes.n_heads)
    written = []
    for batch in part.batches:
        entropy = part.load_result("head-entropy", batch=batch)
        columns: dict[str, dict[str, Any]] = {
            "head": {"label": labels, "haar_entropy": [float(value) for value in entropy.raw]}
        }
        if run.plan.labels != "none" or sizes.pool > 1:
            texts, open_entries = part.labels(batch), part.mask(batch)
            for axis, other in (("query", 1), ("key", 0)):
                # Padding is in no tree.
                kept = np.flatnonzero(open_entries.any(axis=other))
                columns[axis] = {"label": [getattr(texts, axis)[item] for item in kept]}
        place = folder if len(part.batches) == 1 else folder / f"batch{batch}"
        written += write_organization(place, part.load_result("organization", batch=batch), columns)
    return written


def write_scores(part: RunPart, folder: Path) -> Path:
    """Table of all scores and the type of every head, means over the batches."""
    from haarbor.diagnostics import heads_table
    from haarbor.whole_file import whole_file

    table = heads_table(part)
    place = folder / f"{table.name}.csv"
    with whole_file(place, "the table of scores") as unfinished:
        unfinished.write_text(table.csv_text(), encoding="utf-8", newline="\n")
    return place


def require_no_array_options(given: Mapping[str, object]) -> None:
    """Refuse options of arrays for a run.

    Raises
    ------
    SettingError
    """
    wrong = [option for option, value in given.items() if value]
    if wrong:
        raise SettingError(
            f"{' and '.join(wrong)} must go with an array file, .npy, .npz or .safetensors; RUN is a run. "
            f"Leave {'it' if len(wrong) == 1 else 'them'} out."
        )
