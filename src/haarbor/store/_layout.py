"""Where everything lies in a run: the names of groups, arrays and chunks, and the format's number.

A run is one zarr group::

    zarr.json                                     attributes: format, version, plan, error_bound, digest
    <stream>/zarr.json
    <stream>/probabilities | logits               (batch, layer, head, query, key), one chunk per layer, or
                                                  several, each of some queries, where a layer is large; not
                                                  there in a run that keeps results only
    <stream>/mask                                 (batch, query, key), chunks of the same queries
    batches/<00003>/zarr.json                     the batch is complete; attributes: checksums, labels,
                                                  digest, and kinds of tokens where there are any
    pictures/<00003>                              (height, width, channel) of a batch; need not be there
    results/<stream>/<content>/<batch-00003 | all-batches>/<name>/zarr.json, <array>

Every key belongs to a zarr group or array, so any zarr 3 reader can open a run. What Haarbor reads
does not depend on the arrays' descriptions: see :mod:`haarbor.store._array_description`. Chunks lie beside
their array's description (``c.<batch>.<layer>.0.0.0``): a folder for each would quadruple the number
of files and of writes that have to be waited for.
"""

from __future__ import annotations

import re

from haarbor.store._foreign_files import is_foreign

__all__ = [
    "BATCHES",
    "COMPRESSION_LEVEL",
    "FORMAT",
    "LOCK",
    "METADATA",
    "MOST_BATCHES",
    "NUMBER_TYPES",
    "PICTURES",
    "RESERVED",
    "RESULTS",
    "UNFINISHED",
    "VERSION",
    "array_path",
    "batch_number",
    "batch_of_chunk",
    "batch_of_key",
    "chunk_key",
    "is_passing",
    "marker_key",
    "name_fits",
    "only_chunk_key",
    "picture_path",
]

FORMAT = "haarbor run"
VERSION = 2
METADATA = "zarr.json"
BATCHES = "batches"
RESULTS = "results"
PICTURES = "pictures"
RESERVED = (BATCHES, PICTURES, RESULTS)
MOST_BATCHES = 10**6
"""Upper bound on the number of batches; whatever claims more is refused at once."""
UNFINISHED = ".partial"
"""End of a file's name while it is being written, by Haarbor or by zarr."""
LOCK = ".lock"
# Higher levels gain no size on attention: level 9 is ten times slower for the same bytes.
COMPRESSION_LEVEL = 1
NUMBER_TYPES = (
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *(f"float{bits}" for bits in (16, 32, 64)),
)
"""Types of numbers that an array may have, which every zarr 3 reader knows."""


def array_path(stream: str, name: str) -> str:
    """Path of an array of a stream.

    Examples
    --------
    >>> array_path("decoder", "mask")
    'decoder/mask'
    """
    return f"{stream}/{name}"


def chunk_key(path: str, batch: int, layer: int | None = None, row_chunk: int = 0) -> str:
    """Key of the chunk of a batch, or of a layer of it, in an array; of some of its queries.

    Examples
    --------
    >>> chunk_key("decoder/logits", 3, 1), chunk_key("decoder/mask", 3, row_chunk=2)
    ('decoder/logits/c.3.1.0.0.0', 'decoder/mask/c.3.2.0')
    """
    if layer is None:
        return f"{path}/c.{batch}.{row_chunk}.0"
    return f"{path}/c.{batch}.{layer}.0.{row_chunk}.0"


def only_chunk_key(path: str, n_axes: int) -> str:
    """Key of the chunk of an array that has no other.

    Examples
    --------
    >>> only_chunk_key("pictures/00003", 3), only_chunk_key("results/x", 0)
    ('pictures/00003/c.0.0.0', 'results/x/c')
    """
    return f"{path}/{'.'.join(['c', *['0'] * n_axes])}"


def batch_of_chunk(name: str) -> int | None:
    """Batch that a chunk belongs to, from the last part of its key; None if it is no chunk.

    Examples
    --------
    >>> batch_of_chunk("c.3.1.0.0.0"), batch_of_chunk("zarr.json")
    (3, None)
    """
    found = re.fullmatch(r"c\.([0-9]{1,9})(\.[0-9]+)+", name)
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


def batch_number(text: str) -> int | None:
    """Batch of a name such as "00003", None if no batch is called so.

    Examples
    --------
    >>> batch_number("00003"), batch_number("000003"), batch_number("abc")
    (3, None, None)
    """
    if re.fullmatch(r"[0-9]{5,9}", text) is None:
        return None
    batch = int(text)
    return batch if f"{batch:05d}" == text and batch < MOST_BATCHES else None


def batch_of_key(key: str) -> int | None:
    """Batch whose marker `key` is, None if it is no marker.

    Examples
    --------
    >>> batch_of_key("batches/00003/zarr.json"), batch_of_key("batches/00003/zarr.partial")
    (3, None)
    """
    parts = key.split("/")
    if len(parts) != 3 or parts[0] != BATCHES or parts[2] != METADATA:
        return None
    return batch_number(parts[1])


def name_fits(name: object) -> bool:
    """Whether `name` can be part of a path on every file system, and means nothing else in a run.

    Examples
    --------
    >>> name_fits("cross-attention"), name_fits("../up"), name_fits(""), name_fits(3)
    (True, False, False, False)
    """
    return (
        isinstance(name, str)
        and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name) is not None
        and name != METADATA
        and not name.endswith((UNFINISHED, LOCK))
        and not is_foreign(name)
    )


def is_passing(name: str) -> bool:
    """Whether a file of that name is no part of a run: foreign, a lock, or not written to its end.

    Examples
    --------
    >>> is_passing("zarr.json.partial"), is_passing("run.lock"), is_passing("zarr.json")
    (True, True, False)
    """
    return name.endswith((UNFINISHED, LOCK)) or is_foreign(name)
