"""Failures of a disk or a network, said in one line."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from haarbor.errors import HaarborError, StoreError

__all__ = ["storage_failures"]

_ADVICE = {
    errno.ENOSPC: "The disk is full: free some space, then run the same command again to go on.",
    errno.EDQUOT: "The disk quota is used up: free some space, then run the same command again to go on.",
    errno.EROFS: "The file system is read-only: choose another place.",
    errno.EACCES: "Change its permissions, or choose another place.",
    errno.EPERM: "Change its permissions, or choose another place.",
}


@contextmanager
def storage_failures(doing: str) -> Iterator[None]:
    """Turn an OSError of the block into a StoreError that says what was being done.

    Parameters
    ----------
    doing : str
        As in "writing layer 3 of batch 0".

    Examples
    --------
    >>> with storage_failures("writing batch 0"):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    ...
    haarbor.errors.StoreError: writing batch 0 failed: No space left on device. The disk is full: \
free some space, then run the same command again to go on.
    """
    try:
        yield
    except HaarborError:
        raise
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        advice = _ADVICE.get(error.errno or 0, "What was complete before is unharmed.")
        failure = StoreError(f"{doing} failed: {reason}. {advice}")
        failure.errno = error.errno
        raise failure from error
