"""The engine that lets the workers of a Dask cluster do the work."""

from __future__ import annotations

import math
from collections.abc import Sequence

from haarbor.array_types import FloatArray
from haarbor.engines._cluster_session import ClusterSession
from haarbor.engines._engine import FeatureBlock
from haarbor.engines._worker_threads import usable_cores
from haarbor.errors import EngineError, SettingError
from haarbor.options import found_text, require_whole_number

__all__ = ["ClusterEngine"]


class ClusterEngine:
    """Engine on the workers of a Dask cluster, for the batches of a run.

    It needs only the address of the scheduler, so any deployment will do: SLURM, Kubernetes, a cloud. Each
    worker reads the run itself. Results are those of one process, bit for bit, if the machines are alike.

    Parameters
    ----------
    scheduler : str, optional
        Address of a scheduler, such as "tcp://10.0.0.5:8786"; without one a cluster of processes is started
        on this machine for every call, and ended after it.
    workers : int, optional
        Worker processes of the cluster on this machine; by default one for every core.
    patience_seconds : float, default 60
        How long to wait for workers where there are none.

    See Also
    --------
    haarbor.CpuEngine : The cores of this machine.
    haarbor.GpuEngine : A CUDA device.

    Examples
    --------
    >>> ClusterEngine("tcp://10.0.0.5:8786")
    ClusterEngine('tcp://10.0.0.5:8786')
    """

    def __init__(
        self, scheduler: str | None = None, *, workers: int | None = None, patience_seconds: float = 60.0
    ) -> None:
        if scheduler is not None and (not isinstance(scheduler, str) or not scheduler.strip()):
            raise SettingError(
                f"scheduler must be an address like tcp://host:8786; found {found_text(scheduler)}. Copy it "
                "from the first lines of dask scheduler."
            )
        if scheduler is not None and workers is not None:
            raise SettingError(
                "workers must go with a cluster on this machine; a scheduler is given, which has its own. "
                "Leave one of them out."
            )
        is_number = isinstance(patience_seconds, int | float) and math.isfinite(patience_seconds)
        if not is_number or patience_seconds < 0:
            raise SettingError(
                f"patience_seconds must be a number from 0; found {found_text(patience_seconds)}. Pass 60."
            )
        self.scheduler = scheduler
        self.workers = None if workers is None else require_whole_number("workers", workers, 1, 1024)
        self.patience_seconds = float(patience_seconds)

    @property
    def name(self) -> str:
        """Short name for settings and logs."""
        return "cluster"

    def __repr__(self) -> str:
        shown = [] if self.scheduler is None else [repr(self.scheduler)]
        shown += [] if self.workers is None else [f"workers={self.workers}"]
        return f"ClusterEngine({', '.join(shown)})"

    def session(self) -> ClusterSession:
        """A connection to the workers, for a ``with`` block; EngineError if there is none to be had."""
        return ClusterSession(self.scheduler, self.workers or usable_cores(), self.patience_seconds)

    def l1_sums(self, blocks: Sequence[FeatureBlock], n_items: int, n_targets: int) -> FloatArray:
        """Refused: blocks of an array in this process would have to be sent for every step.

        Raises
        ------
        EngineError
        """
        raise EngineError(
            "engine='cluster' must have a run to work on, which every worker reads itself; found an array in "
            "memory. Use engine='cpu' for it, or keep it in a run with haarbor.import_arrays."
        )
