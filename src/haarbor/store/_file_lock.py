"""A lock on a file that the operating system takes back when the process that holds it dies."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

import filelock

from haarbor.errors import StoreError
from haarbor.printable import printable

__all__ = ["FileLock"]

# A holder that removes its file while another process opens it costs that process one more attempt.
_LEAST_PATIENCE_SECONDS = 0.1


class FileLock:
    """Exclusive lock, held from construction to `release`.

    It is a lock of the package filelock, and three promises of a run are added here: only a plain file
    is ever written to, the file names the process that holds the lock, and no file is left when the
    lock is given back. A file that a killed process left behind locks nothing.

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
        If another process, or another part of this one, holds the lock for longer, or if there is
        something else than a plain file at the path.
    """

    def __init__(self, path: Path, place: str, *, patience_seconds: float = 0.0) -> None:
        self._path = path

        def sign(descriptor: int) -> None:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StoreError(
                    f"the lock of {place} must be a plain file; {printable(path)} is none. Remove it."
                )
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))

        # Not bound to the thread that took it: whichever thread forgets a writer gives its lock back.
        self._lock = filelock.FileLock(path, thread_local=False, poll_interval=0.02, on_acquired=sign)
        try:
            self._lock.acquire(timeout=max(patience_seconds, _LEAST_PATIENCE_SECONDS))
        except filelock.Timeout:
            raise StoreError(
                f"one process at a time may write to {place}; {_holder(path)} does now. "
                "Wait for it to end, or choose another place."
            ) from None

    def release(self) -> None:
        """Give the lock back and remove its file; doing so twice is harmless."""
        # False in a process that was forked meanwhile, too: the lock stays its parent's.
        if self._lock.is_locked:
            # Removed before it is unlocked: whoever opened it meanwhile sees that it is gone.
            with contextlib.suppress(OSError):
                self._path.unlink()
            self._lock.release()


def _holder(path: Path) -> str:
    """Process that says in the file that it holds the lock."""
    try:
        with path.open("rb") as file:
            number = file.read(32).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        number = ""
    return f"process {number}" if number.isdecimal() else "another process"
