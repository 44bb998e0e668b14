"""Whether something fits into the memory of this machine, asked before the memory is taken."""

import os
import re
from pathlib import Path

from haarbor.errors import SettingError, ShapeError
from haarbor.options import found_text, is_whole_number

__all__ = ["bytes_text", "machine_memory", "memory_limit", "process_memory", "require_memory"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_LIMIT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?([KMGT]?)B?", re.IGNORECASE)


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


def memory_limit(given: object) -> int:
    """Bytes of a limit that a user set, a number of bytes or a text such as "2GB" or "512 MB".

    Raises
    ------
    SettingError
        If it is neither, or nothing.

    Examples
    --------
    >>> memory_limit("2GB"), memory_limit("1.5 mb"), memory_limit(4096)
    (2000000000, 1500000, 4096)
    """
    n_bytes = 0
    if isinstance(given, str):
        match = _LIMIT.fullmatch(given.strip())
        if match is not None:
            n_bytes = round(float(match[1]) * _UNITS[match[2].upper()])
    elif is_whole_number(given):
        n_bytes = int(given)  # type: ignore[call-overload]
    if n_bytes < 1:
        raise SettingError(
            "memory must be a size such as '2GB' or '512MB', or a number of bytes; found "
            f"{found_text(given)}. Write a number and its unit."
        )
    return n_bytes


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
