"""Where everything lies in a run: the names of groups, arrays and chunks, and the format's number.

A run is one zarr group::

    zarr.json                                     attributes: format, version, plan, error_bound
    <stream>/zarr.json
    <stream>/probabilities | logits               (batch, layer, head, query, key), a chunk a (batch, layer)
    <stream>/mask                                 (batch, query, key), a chunk a batch
    batches/<00003>/zarr.json                     the batch is complete; attributes: checksums, labels
    pictures/<00003>                              (height, width, channel) of a batch; need not be there
    results/<stream>/<content>/<batch-00003 | all-batches>/<name>/zarr.json, <array>

Every key belongs to a zarr group or array, so any zarr 3 reader can open a run. Chunks lie beside
their array's description (``c.<batch>.<layer>.0.0.0``): a folder for each would quadruple the number
of files and of writes that have to be waited for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = [
    "BATCHES",
    "FORMAT",
    "METADATA",
    "PICTURES",
    "RESERVED",
    "RESULTS",
    "VERSION",
    "array_path",
    "batch_of_chunk",
    "batch_of_key",
    "chunk_key",
    "group_document",
    "marker_key",
    "name_fits",
    "picture_path",
]

FORMAT = "haarbor run"
VERSION = 1
METADATA = "zarr.json"
BATCHES = "batches"
RESULTS = "results"
PICTURES = "pictures"
RESERVED = (BATCHES, PICTURES, RESULTS)


def array_path(stream: str, name: str) -> str:
    """Path of an array of a stream.

    Examples
    --------
    >>> array_path("decoder", "mask")
    'decoder/mask'
    """
    return f"{stream}/{name}"


def chunk_key(path: str, batch: int, layer: int | None = None) -> str:
    """Key of the chunk of a batch, or of a layer of it, in an array.

    Examples
    --------
    >>> chunk_key("decoder/logits", 3, 1), chunk_key("decoder/mask", 3)
    ('decoder/logits/c.3.1.0.0.0', 'decoder/mask/c.3.0.0')
    """
    if layer is None:
        return f"{path}/c.{batch}.0.0"
    return f"{path}/c.{batch}.{layer}.0.0.0"


def batch_of_chunk(name: str) -> int | None:
    """Batch that a chunk belongs to, from the last part of its key; None if it is no chunk.

    Examples
    --------
    >>> batch_of_chunk("c.3.1.0.0.0"), batch_of_chunk("zarr.json")
    (3, None)
    """
    found = re.match(r"c\.(\d+)\.", name)
    return None if found is None else int(found[1])


def marker_key(batch: int) -> str:
    """Key whose presence says that a batch is complete.

    Examples
    --------
    >>> marker_key(3)
    'batches/00003/zarr.json'
    """
    return f"{BATCHES}/{batch:05d}/{METADATA}"


def picture_path(batch: int) -> str:
    """Path of the picture of a batch.

    Examples
    --------
    >>> picture_path(3)
    'pictures/00003'
    """
    return f"{PICTURES}/{batch:05d}"


def batch_of_key(key: str) -> int | None:
    """Batch whose marker `key` is, None if it is no marker.

    Examples
    --------
    >>> batch_of_key("batches/00003/zarr.json"), batch_of_key("batches/00003/zarr.partial")
    (3, None)
    """
    found = re.fullmatch(rf"{BATCHES}/(\d{{5,}})/{METADATA}", key)
    return None if found is None else int(found[1])


def group_document(attributes: Mapping[str, Any]) -> bytes:
    """Content of a group's ``zarr.json``, the same bytes for the same attributes."""
    document = {"zarr_format": 3, "node_type": "group", "attributes": dict(attributes)}
    return json.dumps(document, indent=2, sort_keys=True, allow_nan=False).encode("ascii")


def name_fits(name: str) -> bool:
    """Whether `name` can stand in a path on every file system.

    Examples
    --------
    >>> name_fits("cross-attention"), name_fits("../up"), name_fits("")
    (True, False, False)
    """
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name) is not None
