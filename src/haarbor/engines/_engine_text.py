"""Which engine does the work, in words."""

from haarbor.engines._engine import L1Engine

__all__ = ["engine_text"]


def engine_text(engine: L1Engine) -> str:
    """Name of an engine, with its number of threads where it has one.

    Examples
    --------
    >>> from haarbor import CpuEngine
    >>> engine_text(CpuEngine(2))
    'cpu, 2 threads'
    """
    threads = getattr(engine, "threads", None)
    if not isinstance(threads, int):
        return engine.name
    return f"{engine.name}, {threads} thread{'' if threads == 1 else 's'}"
