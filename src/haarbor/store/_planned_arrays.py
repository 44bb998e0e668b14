"""The arrays that a run must have according to its plan."""

from __future__ import annotations

from collections.abc import Sequence

from haarbor.store._array_description import ArrayDescription
from haarbor.store._chunked_arrays import require_same_description, stored_description
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._keys import Keys
from haarbor.store._layout import MOST_BATCHES, array_path
from haarbor.store._run_plan import RunPlan, StreamPlan

__all__ = ["planned_array", "planned_arrays", "planned_chunks", "require_planned"]


def planned_arrays(
    plan: RunPlan, n_batches: int, contents: Sequence[str] | None = None
) -> dict[str, ArrayDescription]:
    """Description of each array of the streams, by its path.

    Parameters
    ----------
    plan : RunPlan
    n_batches : int
        How many batches the arrays are to have room for.
    contents : sequence of str, optional
        All contents of the plan if not given. Masks are always among the arrays.

    Returns
    -------
    dict of str to ArrayDescription

    Examples
    --------
    >>> stream = StreamPlan(name="decoder", n_layers=2, n_heads=4, n_queries=8, n_keys=8)
    >>> list(planned_arrays(RunPlan(model="tiny", streams=(stream,), n_batches=3), 3))
    ['decoder/probabilities', 'decoder/mask']
    """
    return {
        array_path(stream.name, content): planned_array(plan, stream, content, n_batches)
        for stream in plan.streams
        for content in (*(plan.contents if contents is None else contents), "mask")
    }


def planned_array(plan: RunPlan, stream: StreamPlan, content: str, n_batches: int) -> ArrayDescription:
    """Description of one array: a content of a stream, or its mask."""
    rows = stream.rows_per_chunk or stream.n_queries
    if content == "mask":
        pairs = (stream.n_queries, stream.n_keys)
        return ArrayDescription(
            shape=(n_batches, *pairs),
            chunk_shape=(1, rows, stream.n_keys),
            dtype="bool",
            axes=("batch", "query", "key"),
        )
    return ArrayDescription(
        shape=(n_batches, stream.n_layers, *stream.layer_shape),
        chunk_shape=(1, 1, stream.n_heads, rows, stream.n_keys),
        dtype=plan.dtype,
        axes=("batch", "layer", "head", "query", "key"),
    )


def planned_chunks(stream: StreamPlan, content: str) -> list[tuple[int | None, int]]:
    """Layer (None for a mask) and number of the rows of each chunk of a batch, in the order of checksums.

    Examples
    --------
    >>> stream = StreamPlan(name="self", n_layers=2, n_heads=4, n_queries=8, n_keys=8, rows_per_chunk=5)
    >>> planned_chunks(stream, "logits"), planned_chunks(stream, "mask")
    ([(0, 0), (0, 1), (1, 0), (1, 1)], [(None, 0), (None, 1)])
    """
    rows = range(len(stream.row_chunks))
    layers = (None,) if content == "mask" else range(stream.n_layers)
    return [(layer, row_chunk) for layer in layers for row_chunk in rows]


def require_planned(keys: Keys, plan: RunPlan, stream: StreamPlan, content: str, *, least: int) -> int:
    """Compare the stored description of an array with the one that the plan asks for.

    Parameters
    ----------
    keys : Keys
    plan : RunPlan
    stream : StreamPlan
    content : str
        "probabilities", "logits" or "mask".
    least : int
        Batches that the array must have room for, where the plan does not say how many there are.

    Returns
    -------
    int
        Batches that the array has room for.

    Raises
    ------
    DamagedPartError
        If the description is missing or says something else.
    """
    stored = stored_description(keys, array_path(stream.name, content))
    n_batches = plan.n_batches
    if n_batches is None:
        shape = stored.get("shape")
        n_batches = shape[0] if isinstance(shape, list) and shape and type(shape[0]) is int else -1
        if not least <= n_batches <= MOST_BATCHES:
            raise DamagedPartError(f"its description does not say that there is room for {least} batches")
    require_same_description(stored, planned_array(plan, stream, content, n_batches))
    return n_batches
