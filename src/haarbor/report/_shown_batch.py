"""What the page holds of one batch: matrices as bytes, tokens, orders, folders, scales and picture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haarbor.analysis import valid_tokens
from haarbor.array_types import AnyArray, BoolArray, ByteArray, FloatArray, IntArray
from haarbor.questionnaire import Organization
from haarbor.report._coarse_cells import coarse_matrix, coarse_size
from haarbor.report._packing import quantised_matrix
from haarbor.store import RunPart
from haarbor.trees import PartitionTree, drawn_tree
from haarbor.wavelets import haar_scales

__all__ = ["ShownBatch", "patch_grid", "shown_batch"]

_THUMBNAIL = 40
# The most entries that all matrices of a batch may have in the page; above it, means of blocks are shown.
_MOST_CELLS = 24_000_000


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ShownBatch:
    """What the page holds of a batch."""

    data: Mapping[str, Any]
    """Values for JSON."""
    blobs: Mapping[str, bytes]
    """Large arrays as bytes, by name; they are compressed later."""


def shown_batch(part: RunPart, batch: int, n_steps: int = 255) -> ShownBatch:
    """Gather what the page needs of a batch.

    Parameters
    ----------
    part : RunPart
        Organised.
    batch : int
    n_steps : int, default 255
        How finely entries are kept; see :func:`haarbor.report._packing.quantised_matrix`.

    Returns
    -------
    ShownBatch
    """
    organization: Organization = part.load_result("organization", batch=batch)
    tokens = valid_tokens(np.asarray(part.tensor(batch)), np.asarray(part.mask(batch)))
    labels = part.labels(batch)
    query_labels = [labels.query[place] for place in tokens.queries]
    key_labels = [labels.key[place] for place in tokens.keys]
    kinds = part.token_kinds(batch)
    query_kinds = [kinds.query[place] for place in tokens.queries] if kinds.query else []
    key_kinds = [kinds.key[place] for place in tokens.keys] if kinds.key else []
    orders = {axis: organization.order(axis) for axis in ("query", "key")}
    values = tokens.filled(part.content)
    scales = haar_scales(values, organization.trees)
    block = _block(values.shape)
    data: dict[str, Any] = {
        "batch": batch,
        "n_queries": values.shape[0],
        "n_keys": values.shape[1],
        "query_labels": query_labels,
        "key_labels": None if key_labels == query_labels else key_labels,
        "orders": orders,
        "folders": {
            axis: _folder_sizes(drawn_tree(organization.trees[axis]).tree, orders[axis]) for axis in orders
        },
        "block": block,
        "masked": not bool(tokens.mask.all()),
        "scales": scales.to_data(),
        "grid": patch_grid(key_labels, key_kinds) if len(query_labels) == len(key_labels) else None,
    }
    if query_kinds or key_kinds:
        data["query_kinds"] = query_kinds or None
        data["key_kinds"] = key_kinds or None
    blobs: dict[str, bytes] = {"scales": scales.to_bytes()}
    if data["masked"]:
        blobs["mask"] = np.packbits(tokens.mask, axis=None).tobytes()
    data["quantisation"] = _pack_matrices(values, tokens.mask, orders, block, n_steps, blobs)
    blobs["thumbnails"] = _thumbnails(values, orders)
    picture = part.run.picture(batch)
    if picture is not None:
        data["picture"] = list(picture.shape[:2])
        blobs["picture"] = picture.tobytes()
    return ShownBatch(data=data, blobs=blobs)


def patch_grid(labels: Sequence[str], kinds: Sequence[str] = ()) -> dict[str, int] | None:
    """Rows and columns of the patches of an image, and how many tokens stand before them.

    Parameters
    ----------
    labels : sequence of str
        Of all tokens; those of patches are "row,column", row by row.
    kinds : sequence of str
        Of all tokens, where they are known: the patches are those of kind "image", and text may follow
        them. Otherwise the patches come last.

    Returns
    -------
    dict or None
        None where the labels are no whole grid of patches.

    Examples
    --------
    >>> patch_grid(["CLS", "0,0", "0,1", "1,0", "1,1"])
    {'first': 1, 'rows': 2, 'columns': 2}
    >>> patch_grid(["see", "0,0", "0,1", "what", "?"], ["text", "image", "image", "text", "text"])
    {'first': 1, 'rows': 1, 'columns': 2}
    >>> patch_grid(["the", "cat"]) is None
    True
    """
    if "image" in kinds:
        n_after = list(reversed(kinds)).index("image")
        labels = [label if kind == "image" else "" for label, kind in zip(labels, kinds, strict=True)][
            : len(kinds) - n_after
        ]
    places = [re.fullmatch(r"(\d+),(\d+)", label) for label in labels]
    first = next((index for index, place in enumerate(places) if place is not None), None)
    if first is None:
        return None
    found = [None if place is None else (int(place[1]), int(place[2])) for place in places[first:]]
    if found[-1] is None:
        return None
    rows, columns = found[-1][0] + 1, found[-1][1] + 1
    if found != [(row, column) for row in range(rows) for column in range(columns)]:
        return None
    return {"first": first, "rows": rows, "columns": columns}


def _block(shape: tuple[int, ...]) -> int:
    """Side of the blocks whose means are shown, 1 where every entry fits."""
    n_queries, n_keys, n_heads = shape
    block = 1
    # Blocks differ between the original and the organised order, so the page holds both.
    while (
        n_heads * coarse_size(n_queries, block) * coarse_size(n_keys, block) * (2 if block > 1 else 1)
        > _MOST_CELLS
    ):
        block += 1
    return block


def _pack_matrices(
    values: AnyArray,
    mask: BoolArray,
    orders: Mapping[str, IntArray],
    block: int,
    n_steps: int,
    blobs: dict[str, bytes],
) -> dict[str, Any]:
    power = 2 if values.min() >= 0 else 1
    largest = 0.0
    moved = np.ix_(orders["query"], orders["key"])
    # The page holds the mask: masked entries need not be kept for every head.
    kept = mask[moved] if block == 1 and not mask.all() else None
    for head in range(values.shape[2]):
        # In the organised order neighbours are alike, which compresses better.
        organised = values[:, :, head][moved]
        matrices = {"head": organised} if block == 1 else {"head": organised, "original": values[:, :, head]}
        for name, matrix in matrices.items():
            found = quantised_matrix(coarse_matrix(matrix, block), power, n_steps)
            blobs[f"{name}-{head}"] = found.to_bytes(kept)
            largest = max(largest, found.largest_error)
    return {
        "power": power,
        "steps": n_steps,
        "largest_error": largest,
        "largest_value": float(values.max()),
    }


def _thumbnails(values: AnyArray, orders: Mapping[str, IntArray]) -> bytes:
    """Small pictures of all heads in the organised order, each on its own scale."""
    small = np.stack(
        [
            _thumbnail(values[:, :, head][np.ix_(orders["query"], orders["key"])])
            for head in range(values.shape[2])
        ]
    )
    return small.tobytes()


def _thumbnail(matrix: AnyArray) -> ByteArray:
    rows = np.minimum(np.arange(_THUMBNAIL) * matrix.shape[0] // _THUMBNAIL, matrix.shape[0] - 1)
    columns = np.minimum(np.arange(_THUMBNAIL) * matrix.shape[1] // _THUMBNAIL, matrix.shape[1] - 1)
    if matrix.shape[0] > _THUMBNAIL and matrix.shape[1] > _THUMBNAIL:
        sums = np.add.reduceat(np.add.reduceat(matrix.astype(np.float64), rows, axis=0), columns, axis=1)
        heights = np.diff(np.append(rows, matrix.shape[0]))
        widths = np.diff(np.append(columns, matrix.shape[1]))
        cells: FloatArray = sums / heights[:, None] / widths[None, :]
    else:
        cells = matrix[np.ix_(rows, columns)].astype(np.float64)
    low, high = float(cells.min()), float(cells.max())
    share = (cells - low) / (high - low) if high > low else np.zeros_like(cells)
    steps: ByteArray = np.rint(np.sqrt(share) * 255).astype(np.uint8)
    return steps


def _folder_sizes(tree: PartitionTree, order: IntArray) -> list[list[int]]:
    """For each level the sizes of its folders, in the order of the leaves; singletons left out."""
    found = []
    for row in tree.levels[:-1]:
        along = row[order]
        borders = np.flatnonzero(np.diff(along)) + 1
        found.append(np.diff(np.concatenate([[0], borders, [along.size]])).tolist())
    return found
