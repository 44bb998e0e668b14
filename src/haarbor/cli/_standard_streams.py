"""What is done when standard output or error is closed, full, or cannot write a letter."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys

__all__ = ["abandon_output", "is_of_output", "output_failure", "prepare_streams"]

# Packages that write to the standard streams, and to nothing else.
_PRINTERS = ("click", "rich", "typer")


def prepare_streams() -> None:
    """Prepare the streams for writing, before any other file is opened.

    A letter that the terminal's encoding does not have is written as an escape. A closed stream is
    opened again on the null device; otherwise the next file to be opened would get its number, and with
    it what is printed. Standard output is opened such that writing to it fails, so that the failure is
    reported.
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
    """The error that keeps printed text from standard output; None if all of it was written."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return error
    return None


def is_of_output(error: OSError) -> bool:
    """Whether the error came from printing, judged by the module that raised it: the error names no file."""
    place = error.__traceback__
    if error.filename is not None or place is None:
        return False
    while place.tb_next is not None:
        place = place.tb_next
    return str(place.tb_frame.f_globals.get("__name__")).partition(".")[0] in _PRINTERS


def abandon_output() -> None:
    """Discard what standard output does not take, so that it does not fail once more at the exit."""
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
