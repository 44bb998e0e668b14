"""The haarbor command with what all its subcommands share: streams, interrupts, warnings, failures."""

from __future__ import annotations

import contextlib
import errno
import gc
import sys

from haarbor.cli._interruption import EXIT_CODE as INTERRUPTED
from haarbor.cli._interruption import Interruption
from haarbor.cli._standard_streams import abandon_output, is_of_output, output_failure, prepare_streams
from haarbor.cli._told_warnings import told_warnings

__all__ = ["whole_command"]


def whole_command() -> None:
    """Run the command line and end the process, with the exit codes of :func:`haarbor.cli.main`."""
    prepare_streams()
    interruption = Interruption()
    try:
        interruption.watch()
        code = _exit_code(interruption)
        # From here on an interrupt raises no exception and ends the process at once.
        interruption.finished = True
    except KeyboardInterrupt:
        # It came before or after the command, or while another failure was being handled.
        interruption.end()
    if interruption.happened:
        interruption.end()
    if code == INTERRUPTED:
        interruption.tell()
    code = _with_output(code)
    # The end of the process gives everything back: to look through it for garbage first takes a while.
    gc.freeze()
    sys.exit(code)


def _exit_code(interruption: Interruption) -> int:
    try:
        # This import takes time: it may be interrupted, and may fail as the commands do.
        from haarbor.cli._app import app

        with told_warnings():
            app(prog_name="haarbor")
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if interruption.happened:
            # The interrupt may have become another exception on its way here.
            return INTERRUPTED
        if isinstance(error, OSError) and is_of_output(error):
            return _output_lost(error)
        from haarbor.cli._failure_line import failure_line

        line = failure_line(error)
        if line is None:
            raise
        _tell(line)
        return 1
    return 0


def _with_output(code: int) -> int:
    """The exit code, after everything printed has been written out."""
    failure = output_failure()
    if failure is None:
        return code
    if code == 0:
        return _output_lost(failure)
    abandon_output()
    return code


def _output_lost(error: OSError) -> int:
    abandon_output()
    # A reader who closes a pipe has read enough: nothing is said.
    if not isinstance(error, BrokenPipeError):
        reason = "it is closed" if error.errno == errno.EBADF else error.strerror
        _tell(f"standard output must take what is printed; {reason}. Send it elsewhere.")
    return 1


def _tell(line: str) -> None:
    # With stderr lost as well there is nobody to tell.
    with contextlib.suppress(OSError):
        sys.stderr.write(f"haarbor: {line}\n")
        sys.stderr.flush()
