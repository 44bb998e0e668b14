"""Begin a run, or continue one that was interrupted."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from haarbor.errors import StoreError
from haarbor.options import found_text
from haarbor.store._batch_marker import complete_batches
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._keys import Keys, keys_at
from haarbor.store._layout import array_path
from haarbor.store._passing_keys import PassingKeys
from haarbor.store._run_document import is_run_of, stored_plan, write_plan
from haarbor.store._run_plan import RunPlan
from haarbor.store._run_writer import RunWriter

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["create_run"]


def create_run(
    location: str | os.PathLike[str] | Store,
    plan: RunPlan,
    *,
    resume: bool = True,
    repair: bool = False,
    check_space: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> RunWriter:
    """Open a run for writing: a new one, or one that was interrupted.

    A run that was interrupted for any reason and is continued with the same plan and the same inputs
    ends as the same files as a run that was never interrupted.

    Parameters
    ----------
    location : str, path or zarr.abc.store.Store
        A folder, any fsspec URL such as ``s3://bucket/run.zarr``, or a zarr store.
    plan : RunPlan
    resume : bool, default True
        Whether a run of the same plan that is there already is continued.
    repair : bool, default False
        Whether to write damaged descriptions again, and to remove damaged results and damaged batches,
        so that they can be made again. This reads the whole run.
    check_space : bool, default True
        Whether to refuse a run that would not fit on the disk if it could not be compressed.
    storage_options : mapping, optional
        For the file system of a URL.

    Returns
    -------
    RunWriter
        Holds the run's lock until it is closed.

    Raises
    ------
    StoreError
        If the place holds something else or a run of another plan, if another process writes to it, or
        if there is too little space. Nothing is changed then.

    See Also
    --------
    haarbor.store.RunPlan : What a run will hold.
    haarbor.store.RunWriter : A run open for writing.
    haarbor.open_run : Open a run for reading.

    Notes
    -----
    On a local disk the lock ends with the process that holds it. At a URL it is an object that says
    which process writes: two writers that begin in the same instant may both get it, and one that was
    left by a process that died on another machine has to be removed by hand.

    Examples
    --------
    >>> import numpy as np
    >>> from haarbor.store import RunPlan, StreamPlan
    >>> stream = StreamPlan(name="decoder", n_layers=1, n_heads=2, n_queries=3, n_keys=3)
    >>> plan = RunPlan(model="tiny", streams=(stream,), n_batches=2)
    >>> with create_run("memory://create-run-example", plan) as writer:
    ...     with writer.batch(0) as batch:
    ...         batch.write_mask("decoder", np.ones((3, 3), dtype=bool))
    ...         batch.write_layer("decoder", 0, {"probabilities": np.full((2, 3, 3), 1 / 3)})
    ...     writer.missing_batches
    (1,)
    """
    keys = keys_at(location, read_only=False, storage_options=storage_options)
    if plan.keeps == "results":
        paths = [array_path(stream.name, content) for stream in plan.streams for content in plan.contents]
        keys = PassingKeys(keys, paths)
    begun = _continued(keys, plan, resume=resume, repair=repair)
    if check_space:
        _require_space(keys, plan, n_complete=len(complete_batches(keys)))
    lock = keys.lock("writer")
    try:
        # Another process may have begun the run between the look above and the lock.
        if not _continued(keys, plan, resume=resume or begun, repair=repair):
            write_plan(keys, plan)
        return RunWriter(keys, plan, lock, repair=repair)
    except BaseException:
        lock.release()
        raise


def _continued(keys: Keys, plan: RunPlan, *, resume: bool, repair: bool) -> bool:
    """Whether there is a run to continue; StoreError if there is something that must not be changed.

    If the root of the run is damaged the answer is False, so that the root is written again; but only
    if `repair` asks for that, and a complete batch proves that it was a run of the same plan.
    """
    try:
        there = stored_plan(keys)
    except DamagedPartError:
        if not (repair and resume and is_run_of(keys, plan)):
            raise
        return False
    if there is None:
        return False
    if not resume:
        raise StoreError(
            f"{keys.address} must be empty for a new run; there is a run of {found_text(there.model)}. "
            "Choose another place, or continue it with resume=True."
        )
    difference = there.first_difference(plan)
    if difference is not None:
        raise StoreError(
            f"a run must be continued with the plan it was begun with; at {keys.address} {difference}. "
            "Use the same settings, or choose another place."
        )
    return True


def _require_space(keys: Keys, plan: RunPlan, *, n_complete: int) -> None:
    free = keys.free_bytes()
    n_batches = n_complete + 1 if plan.n_batches is None else plan.n_batches
    needed = max(0, n_batches - n_complete) * plan.n_bytes_per_batch
    if free is None or needed <= free:
        return
    raise StoreError(
        f"the disk must hold the run; {keys.address} may need {_size_text(needed)} and has "
        f"{_size_text(free)} free. Free some space, take fewer batches, or store float16."
    )


def _size_text(n_bytes: int) -> str:
    size = float(n_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:.4g} TB"
