"""Cases in processes of their own, forked from one that has everything imported, and watched.

A case that hangs, or takes its process down, is a defect like any other: the process is ended and
another goes on with the next case.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from faults.kind import Case, Kind
from faults.outcome import Outcome, defect

__all__ = ["forked_answer", "forked_outcomes", "numbers_of_threads_set"]

# The first case of a process may have to import, compile or write what all of them need.
_START_SECONDS = 120.0


def numbers_of_threads_set() -> None:
    """Keep the libraries below from starting threads, which a fork would lose."""
    for name in ("HAARBOR_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def forked_answer(ask: Callable[[], Any]) -> Any:
    """JSON value of a function, called in a process of its own.

    What zarr and numba start when they are first used stays out of the process that forks.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            with os.fdopen(writing, "w", encoding="utf-8") as pipe:
                json.dump(ask(), pipe)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0:
        raise RuntimeError("what the campaign needs could not be made; the reason is above. Mend that first.")
    return json.loads(text)


def forked_outcomes(
    work: Sequence[tuple[Kind, Sequence[Case]]], *, workers: int, quiet: bool = True
) -> Iterator[tuple[Case, Outcome]]:
    """Outcomes of all cases, as they come.

    Parameters
    ----------
    work : sequence of (Kind, sequence of Case)
    workers : int
        Processes at a time.
    quiet : bool, default True
        Whether what cases print is thrown away.

    Yields
    ------
    tuple of Case and Outcome
    """
    waiting = [
        (kind, list(cases[begin : begin + kind.cases_per_process]))
        for kind, cases in work
        for begin in range(0, len(cases), kind.cases_per_process)
    ]
    waiting.reverse()
    running: list[_Process] = []
    selector = selectors.DefaultSelector()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                process = _Process(*waiting.pop(), quiet=quiet)
                selector.register(process.reading, selectors.EVENT_READ, process)
                running.append(process)
            for key, _ in selector.select(timeout=0.25):
                yield from key.data.heard()
            for process in list(running):
                ended = process.ended()
                if ended is None:
                    continue
                running.remove(process)
                selector.unregister(process.reading)
                yield from process.close(ended)
                if process.cases:
                    waiting.append((process.kind, process.cases))
    finally:
        for process in running:
            process.kill()


class _Process:
    """A child that goes through some cases of one kind and tells each outcome as it comes."""

    def __init__(self, kind: Kind, cases: list[Case], *, quiet: bool) -> None:
        self.kind, self.cases = kind, cases
        self.place = Path(tempfile.mkdtemp(prefix="haarbor-faults-"))
        self.reading, writing = os.pipe()
        self.deadline = time.monotonic() + kind.limit_seconds + _START_SECONDS
        self._unread = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.reading)
            _answer(kind, cases, self.place, writing, quiet=quiet)
        os.close(writing)
        os.set_blocking(self.reading, False)

    def heard(self) -> Iterator[tuple[Case, Outcome]]:
        """Outcomes told since the last look."""
        with suppress(BlockingIOError):
            while part := os.read(self.reading, 1 << 16):
                self._unread += part
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            self.deadline = time.monotonic() + self.kind.limit_seconds
            yield self.cases.pop(0), Outcome(*json.loads(line))

    def ended(self) -> str | None:
        """How the process ended, empty if well; None if it still runs."""
        found, status = os.waitpid(self.pid, os.WNOHANG)
        if found:
            if os.WIFSIGNALED(status):
                return f"the process died of {signal.Signals(os.WTERMSIG(status)).name}"
            code = os.waitstatus_to_exitcode(status)
            return "" if code == 0 else f"the process ended with code {code}"
        if time.monotonic() > self.deadline:
            self.kill()
            return f"hung: no answer within {self.kind.limit_seconds:g} s"
        return None

    def close(self, ended: str) -> Iterator[tuple[Case, Outcome]]:
        """Last outcomes, the one that ended the process among them."""
        yield from self.heard()
        os.close(self.reading)
        shutil.rmtree(self.place, ignore_errors=True)
        if self.cases:
            yield self.cases.pop(0), defect(ended or "the process ended early")

    def kill(self) -> None:
        """End the child and whatever it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _answer(kind: Kind, cases: Sequence[Case], place: Path, writing: int, *, quiet: bool) -> None:
    """Go through the cases in this process, a child, and end it."""
    os.setsid()
    # What the parent does on a signal is not the child's to do.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if quiet:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    os.chdir(place)
    for case in cases:
        try:
            outcome = kind.tried(case.function, case.seed, place)
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            outcome = defect(
                f"the campaign could not judge it ({Path(last.filename).name}:{last.lineno}): "
                f"{type(error).__name__}: {error}",
                traceback.format_exc(),
            )
        line = json.dumps(outcome) + "\n"
        os.write(writing, line.encode())
    sys.stdout.flush()
    os._exit(0)
