"""Sizes of files in words."""

from __future__ import annotations

__all__ = ["size_text"]


def size_text(n_bytes: int) -> str:
    """A number of bytes in the unit that a reader expects.

    Parameters
    ----------
    n_bytes : int

    Returns
    -------
    str

    Examples
    --------
    >>> [size_text(n) for n in (812, 45_300, 999_700, 2_340_000, 5_600_000_000)]
    ['812 bytes', '45 kB', '1.0 MB', '2.3 MB', '5.6 GB']
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    if round(n_bytes, -3) < 1_000_000:
        return f"{n_bytes / 1e3:.0f} kB"
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 1_000_000_000 else f"{n_bytes / 1e9:.1f} GB"
