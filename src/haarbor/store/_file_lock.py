"""A lock on a file that the operating system takes back when its holder dies."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from pathlib import Path

from haarbor.errors import StoreError
from haarbor.store._local_path import shown

__all__ = ["FileLock"]

_POSIX = sys.platform != "win32"

if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _opened(path: Path, place: str) -> int:
    # Never through a link, nor into a device: the file is emptied when the lock is had.
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags, 0o644)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"the lock of {place} must be a plain file; {shown(path)} is none. Remove it.")
    return descriptor


class FileLock:
    """Exclusive lock, held from construction to `release`.

    The file holds the number of the process that has the lock, and is removed with it. A file that
    a killed process left behind locks nothing: the lock died with the process.

    Parameters
    ----------
    path : Path
        Its folder must exist.
    place : str
        What is locked, for the message.
    patience_seconds : float, default 0
        How long to wait for another holder.

    Raises
    ------
    StoreError
        If another process, or another part of this one, holds the lock for longer.
    """

    def __init__(self, path: Path, place: str, *, patience_seconds: float = 0.0) -> None:
        self._path = path
        deadline = time.monotonic() + patience_seconds
        while True:
            descriptor = _opened(path, place)
            if _try_lock(descriptor):
                if self._still_there(descriptor):
                    break
                # The holder before removed the file between our open and our lock.
                os.close(descriptor)
                continue
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() if _POSIX else ""
            os.close(descriptor)
            if time.monotonic() >= deadline:
                by = f"process {holder}" if holder else "another process"
                raise StoreError(
                    f"one process at a time may write to {place}; {by} does now. "
                    "Wait for it to end, or choose another place."
                )
            time.sleep(0.02)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
        self._descriptor: int | None = descriptor

    def _still_there(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Give the lock back and remove its file; doing so twice is harmless."""
        if self._descriptor is None:
            return
        # Removed before it is unlocked: whoever opened it meanwhile sees that it is gone.
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(self._descriptor)
        self._descriptor = None
