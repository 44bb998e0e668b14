"""Ctrl-C ends the program soon, with one line and exit code 130, whatever it is doing."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import socket
import sys
import threading
import time
from typing import Any, NoReturn

__all__ = ["EXIT_CODE", "Interruption"]

EXIT_CODE = 130
_LINE = "haarbor: interrupted; what was complete is kept."
# Enough to release locks and to close files; a run on disk stays whole even without them.
_PATIENCE_SECONDS = 1.0
_SHOW_CURSOR = "\x1b[?25h"


class Interruption:
    """An interrupt by the user, and how it ends the process.

    The first signal raises KeyboardInterrupt as usual. That is not enough: the main thread may be
    inside compiled code, may be waiting for threads that work on, or may lose the exception in a
    place that ignores exceptions. So a second thread is told of the signal too, and ends the process
    if it is still running after a second.
    """

    def __init__(self) -> None:
        self.happened = False
        """Whether the signal came."""
        self.finished = False
        """Whether the command has ended, so that nothing is left to interrupt."""
        self._telling = threading.Lock()

    def watch(self) -> None:
        """Handle interrupts from now on, to the end of the process."""
        # The process may have been started so that it ignores interrupts, as with nohup or &.
        if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        # Only the main thread may set handlers.
        if threading.current_thread() is not threading.main_thread():
            return
        hearing, heard = socket.socketpair()
        heard.setblocking(False)
        signal.set_wakeup_fd(heard.detach(), warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._on_signal)
        threading.Thread(target=self._end_soon, args=(hearing,), name="interruption", daemon=True).start()

    def tell(self) -> None:
        """Tell of the interrupt on stderr, once."""
        if self._telling.acquire(blocking=False) and sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write(f"{_LINE}\n")
                sys.stderr.flush()

    def end(self) -> NoReturn:
        """End the process without waiting for its threads or for libraries to shut down."""
        self.tell()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        # These functions remove temporary files.
        atexit._run_exitfuncs()
        os._exit(EXIT_CODE)

    def _on_signal(self, _number: int, _frame: Any) -> None:
        if self.finished:
            self._end()
        if not self.happened:
            self.happened = True
            raise KeyboardInterrupt

    def _end_soon(self, hearing: socket.socket) -> None:
        while signal.SIGINT not in hearing.recv(64):
            pass
        time.sleep(_PATIENCE_SECONDS)
        self._end()

    def _end(self) -> NoReturn:
        # Written without sys.stderr, whose lock the main thread may hold.
        if self._telling.acquire(blocking=False):
            with contextlib.suppress(OSError):
                shown = f"{_SHOW_CURSOR}\n{_LINE}\n" if os.isatty(2) else f"{_LINE}\n"
                os.write(2, shown.encode())
        os._exit(EXIT_CODE)
