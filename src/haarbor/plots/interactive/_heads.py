"""Heads of a run or of an organisation for interactive figures: names, tree, affinity and diffusion map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haarbor.analysis import asked_part, checked_batch, head_geometry, require_run
from haarbor.array_types import FloatArray, IntArray
from haarbor.errors import DataError, SettingError
from haarbor.head_labels import head_labels
from haarbor.options import found_text, is_whole_number, require_kind, require_whole_number
from haarbor.questionnaire import Organization
from haarbor.spectral import diffusion_map
from haarbor.store import Run
from haarbor.trees import PartitionTree

__all__ = ["Heads", "batch_index", "head_index", "heads_of"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Heads:
    """Geometry of heads with their names."""

    names: tuple[str, ...]
    """"layer.head", or the index where no layers are known."""
    layers: IntArray
    tree: PartitionTree
    order: IntArray
    affinity: FloatArray
    coordinates: FloatArray


def heads_of(source: Run | Organization, heads_per_layer: int | None = None) -> Heads:
    """Heads of an organised run, over all batches, or of one organisation.

    Parameters
    ----------
    source : Run or Organization
    heads_per_layer : int, optional
        For an organisation; if not given, its heads are numbered from 0 without layers.

    Returns
    -------
    Heads

    Raises
    ------
    SettingError
        If the heads cannot be divided into layers of that size.
    StoreError
        If a run has not been organised.
    """
    require_kind(
        "source", source, (Run, Organization), "Pass an organised run, or what haarbor.organize gives."
    )
    if heads_per_layer is not None:
        require_whole_number("heads_per_layer", heads_per_layer, 1)
    if isinstance(source, Run):
        part = asked_part(source)
        found = head_geometry(part.load_result("consensus"))
        per_layer: int | None = part.sizes.n_heads
        tree, order, affinity, points = found.tree, found.order, found.affinity, found.coordinates
    else:
        per_layer = heads_per_layer
        tree, order, affinity = source.trees["head"], source.order("head"), source.affinities["head"]
        points = diffusion_map(affinity).coordinates if tree.n_items > 1 else np.zeros((1, 0))
    n_heads = tree.n_items
    if per_layer is not None and (per_layer < 1 or n_heads % per_layer):
        raise SettingError(
            f"heads_per_layer must divide the {n_heads} heads; found {per_layer}."
            " Pass the number of heads in each layer."
        )
    indices = np.arange(n_heads)
    names = tuple(map(str, indices)) if per_layer is None else head_labels(n_heads // per_layer, per_layer)
    return Heads(
        names=names,
        layers=indices // (per_layer or n_heads),
        tree=tree,
        order=order,
        affinity=affinity,
        coordinates=points,
    )


def head_index(run: Run, head: int | str) -> int:
    """Number of a head given as "layer.head" or as its number.

    Raises
    ------
    SettingError
        If there is no such head.
    """
    require_run(run)
    names = head_labels(len(run.layers), run.heads_per_layer)
    if isinstance(head, str) and head in names:
        return names.index(head)
    if is_whole_number(head) and 0 <= int(head) < run.n_heads:
        return int(head)
    raise SettingError(
        f"head must be written layer.head, from {names[0]} to {names[-1]}; found {found_text(head)}. "
        "Choose among these."
    )


def batch_index(run: Run, batch: int | None) -> int:
    """Batch to show, the first complete one if none is asked for.

    Raises
    ------
    SettingError
        If there is no such batch.
    DataError
        If the run has no complete batch.
    """
    if batch is not None:
        return checked_batch(run, batch)
    if not run.batches:
        raise DataError("the run must have at least one complete batch; it has none. Capture again.")
    return run.batches[0]
