"""Two folders that take each other's place in one step."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

__all__ = ["exchanged_folders"]

_HERE = -100
_EXCHANGE = 2


def exchanged_folders(first: Path, second: Path) -> bool:
    """Let two folders take each other's place, so that at every moment each name has one of them.

    Parameters
    ----------
    first, second : Path
        On the same file system.

    Returns
    -------
    bool
        False where nothing was changed: not every system can do it, nor every file system.
    """
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, TypeError, AttributeError):
        return False
    rename.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return bool(rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _EXCHANGE) == 0)
