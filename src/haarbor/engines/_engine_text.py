"""Which engine does the work, in words."""

from haarbor.engines._cluster import ClusterEngine
from haarbor.engines._engine import L1Engine
from haarbor.engines._worker_threads import usable_cores
from haarbor.printable import printable

__all__ = ["engine_text"]


def engine_text(engine: L1Engine) -> str:
    """Name of an engine, with its number of threads where it has one, or its workers.

    See Also
    --------
    haarbor.engines.engine_named : An engine by name.

    Examples
    --------
    >>> from haarbor import CpuEngine
    >>> engine_text(CpuEngine(2))
    'cpu, 2 threads'
    >>> engine_text(ClusterEngine("tcp://10.0.0.5:8786"))
    'cluster, the workers of tcp://10.0.0.5:8786'
    """
    if isinstance(engine, ClusterEngine):
        if engine.scheduler is not None:
            return f"{engine.name}, the workers of {printable(engine.scheduler)}"
        n_workers = engine.workers or usable_cores()
        return f"{engine.name}, {n_workers} worker{'' if n_workers == 1 else 's'} on this machine"
    threads = getattr(engine, "threads", None)
    if not isinstance(threads, int):
        return engine.name
    return f"{engine.name}, {threads} thread{'' if threads == 1 else 's'}"
