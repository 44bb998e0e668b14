"""Whether something fits into the memory of this machine, asked before the memory is taken."""

import os
from pathlib import Path

from haarbor.errors import ShapeError

__all__ = ["bytes_text", "machine_memory", "process_memory", "require_memory"]


def machine_memory() -> int:
    """Bytes of memory of this machine; 2**40 where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 40


def process_memory() -> int:
    """Bytes of memory that this process holds now; 200 MB where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 200 * 10**6


def bytes_text(n_bytes: int) -> str:
    """Number of bytes with a unit.

    Examples
    --------
    >>> bytes_text(8 * 10**18), bytes_text(512)
    ('8.0 EB', '512 bytes')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    size, unit = float(n_bytes), ""
    for name in ("kB", "MB", "GB", "TB", "PB", "EB"):
        if size < 1000:
            break
        size, unit = size / 1000, name
    return f"{size:.1f} {unit}"


def require_memory(n_bytes: int, holding: str, advice: str) -> None:
    """Raise if something needs more than all the memory of this machine.

    Parameters
    ----------
    n_bytes : int
        The least that is needed.
    holding : str
        What needs the memory, with its size: "the distances of 10 queries".
    advice : str
        What to do if it does not fit.

    Raises
    ------
    ShapeError
    """
    there = machine_memory()
    if n_bytes > there:
        raise ShapeError(
            f"what is held must fit into memory; {holding} would take {bytes_text(n_bytes)}, and this "
            f"machine has {bytes_text(there)}. {advice}"
        )
