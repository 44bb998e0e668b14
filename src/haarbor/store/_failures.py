"""Failures of a disk or a network, turned into an error of one line."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from haarbor.errors import HaarborError, StoreError
from haarbor.printable import printable

__all__ = ["storage_failures"]

_ADVICE = {
    errno.ENOSPC: "The disk is full: free some space, then run the same command again to go on.",
    errno.EDQUOT: "The disk quota is used up: free some space, then run the same command again to go on.",
    errno.EROFS: "The file system is read-only: choose another place.",
    errno.EACCES: "Change its permissions, or choose another place.",
    errno.EPERM: "Change its permissions, or choose another place.",
    errno.ENAMETOOLONG: "The path is too long: choose a shorter one.",
    errno.ELOOP: "A link is in the way: remove it.",
    errno.EMFILE: "Too many files are open at once: raise the limit with ulimit -n.",
}


@contextmanager
def storage_failures(doing: str, *, of_anything: bool = False) -> Iterator[None]:
    """Turn an OSError of the block into a StoreError that says what was being done.

    Parameters
    ----------
    doing : str
        As in "writing layer 3 of batch 0".
    of_anything : bool, default False
        Whether to do so with every other exception too: the libraries behind URLs raise their own kinds.

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
    except Exception as error:
        if not isinstance(error, OSError) and not of_anything:
            raise
        number = error.errno if isinstance(error, OSError) else None
        reason = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
        advice = _ADVICE.get(number or 0, "What was complete before is unharmed.")
        failure = StoreError(f"{printable(doing)} failed: {_first_line(reason)}. {advice}")
        failure.errno = number
        raise failure from error


def _first_line(reason: str) -> str:
    return printable(reason.strip().split("\n")[0].rstrip(". "))
