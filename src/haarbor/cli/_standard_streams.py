"""Standard output and error that can be closed, full, or unable to write a letter."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys

__all__ = ["abandon_output", "is_of_output", "output_failure", "prepare_streams"]

# They write to the standard streams, and to nothing else.
_PRINTERS = ("click", "rich", "typer")


def prepare_streams() -> None:
    """Make the streams fit to be written to, before any other file is opened.

    A letter that the terminal's encoding does not have is written as an escape. A stream that is
    closed is put in place again, such that the next file does not get its number and what is
    printed in the end: standard output so that writing fails and is told, the others as nothing.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        if _is_closed(descriptor):
            _put_in_place(descriptor, flags)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def output_failure() -> OSError | None:
    """What keeps printed text from standard output; None if all of it is there."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def is_of_output(error: OSError) -> bool:
    """Whether it was printing that failed; the system does not say of which file it speaks."""
    place = error.__traceback__
    if error.filename is not None or place is None:
        return False
    while place.tb_next is not None:
        place = place.tb_next
    return str(place.tb_frame.f_globals.get("__name__")).partition(".")[0] in _PRINTERS


def abandon_output() -> None:
    """Let what standard output does not take vanish, lest it fail once more at the exit."""
    with contextlib.suppress(OSError, ValueError):
        _put_in_place(sys.stdout.fileno(), os.O_WRONLY)


def _is_closed(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError as error:
        return error.errno == errno.EBADF
    return False


def _put_in_place(descriptor: int, flags: int) -> None:
    opened = os.open(os.devnull, flags)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)
