"""The haarbor command in a process of its own, forked so that nothing is imported again."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import haarbor
from faults.outcome import Outcome, defect, refused

__all__ = ["Command", "Ended", "ended_command", "one_line_judged", "warm_command"]


def warm_command() -> None:
    """Import what the commands need, and load what numba compiled for them."""
    import warnings

    import matplotlib

    matplotlib.use("Agg")
    import numpy as np
    import plotly.graph_objects  # noqa: F401
    import transformers.models.gpt2.modeling_gpt2  # noqa: F401
    import zarr.storage  # noqa: F401
    from typer.testing import CliRunner

    import haarbor.analysis
    import haarbor.capturing
    import haarbor.cli
    import haarbor.plots
    import haarbor.pruning
    import haarbor.report
    from faults.small_network import small_gpt2
    from haarbor.cli._app import app

    small_gpt2()
    # What typer imports when it first reads an argument: another user may not be allowed to.
    CliRunner().invoke(app, ["info", "no-such-run"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(0)
        for dtype in (np.float32, np.float64):
            X = rng.uniform(0.1, 1, size=(4, 5, 4)).astype(dtype)
            found = haarbor.organize(X, mask=np.ones((4, 5), bool))
            haarbor.head_entropy(X, found.trees)
            haarbor.network_entropy(X, found.trees)


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    """Exit code; minus the signal's number where one ended it."""
    out: str
    err: str
    seconds: float

    @property
    def line(self) -> str:
        """The line in which it refused; empty if there is not exactly one."""
        said = [line for line in self.err.splitlines() if line.startswith("haarbor: ")]
        return said[0].removeprefix("haarbor: ") if len(said) == 1 else ""


class Command:
    """A command that is running.

    Parameters
    ----------
    words : sequence of str
        As on the command line, without ``haarbor``.
    place : Path
        The folder it is run in.
    before : function without arguments, optional
        Called in the new process before the command.
    name : str, default "first"
        To tell what it says from what another command in the same place says.
    """

    def __init__(
        self,
        words: Sequence[str],
        place: Path,
        before: Callable[[], None] = lambda: None,
        *,
        name: str = "first",
    ) -> None:
        self._words, self._place = list(words), place
        # Not in the place itself, which may be a disk that is full.
        self._out, self._err = (Path.cwd() / f"{os.getpid()}-{name}.{part}" for part in ("out", "err"))
        for path in (self._out, self._err):
            # An earlier command may have said something there.
            path.unlink(missing_ok=True)
        self._begin = time.monotonic()
        # An interrupt waits until the child is on its way to the command, and not back in the campaign.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self.pid = os.fork()
        if self.pid == 0:
            self._run(before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _run(self, before: Callable[[], None]) -> None:
        """Run the command in this process, a child, and end it, whatever happens."""
        code = 130
        try:
            code = self._code(before)
        except KeyboardInterrupt:
            # It came when the command had ended; there is one interrupt, and so none after it.
            pass
        finally:
            os._exit(code)

    def _code(self, before: Callable[[], None]) -> int:
        code = 1
        try:
            os.chdir(self._place)
            for number, path in ((1, self._out), (2, self._err)):
                target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
                os.dup2(target, number)
            sys.stdout, sys.stderr = (
                os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2)
            )
            # As in a new process, whatever an earlier command or the shell has made of the signal here.
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            os.environ["HAARBOR_NUM_THREADS"] = "2"
            sys.argv = ["haarbor", *self._words]
            before()
            from haarbor.cli import main

            main()
            code = 0
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        except BaseException as error:
            # An interrupt before the command has begun is not the command's to answer. The package is known
            # by its own folder, since that of the sources may be called the same.
            package = Path(haarbor.__file__).parent
            frames = traceback.extract_tb(error.__traceback__)
            begun = any(Path(frame.filename).is_relative_to(package) for frame in frames)
            early = isinstance(error, KeyboardInterrupt) and not begun
            code = 130 if early else 1
            if not early:
                traceback.print_exc()
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except OSError:
                    traceback.print_exc()
                    code = code or 1
        return code

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        os.kill(self.pid, number)

    def ended(self, limit_seconds: float = 60.0) -> Ended:
        """How it ended; a command that does not end in time is ended, with code -1000."""
        deadline = time.monotonic() + limit_seconds
        while True:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                code = os.waitstatus_to_exitcode(status)
                break
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                code = -1000
                break
            time.sleep(0.002)
        out, err = (_text_of(path) for path in (self._out, self._err))
        return Ended(code, out, err, time.monotonic() - self._begin)


def _text_of(path: Path) -> str:
    """What a command said; nothing, where it was ended before it had anywhere to say it."""
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def ended_command(
    words: Sequence[str],
    place: Path,
    before: Callable[[], None] = lambda: None,
    *,
    limit_seconds: float = 60.0,
) -> Ended:
    """Run a command to its end."""
    return Command(words, place, before).ended(limit_seconds)


def one_line_judged(ended: Ended) -> Outcome:
    """Refused, where the command exited with 1 and one good line; a defect where it did not."""
    if ended.code == -1000:
        return defect("hung")
    if "Traceback" in ended.err:
        return defect(f"a traceback: {ended.err.strip().splitlines()[-1]}", ended.err)
    if ended.code != 1:
        return defect(f"exit code {ended.code}: {ended.err.strip().splitlines()[-1:]}", ended.err)
    if not ended.line:
        return defect(f"not one line: {ended.err.strip()[-300:]!r}", ended.err)
    return refused(ended.line)
