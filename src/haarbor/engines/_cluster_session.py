"""A connection to the scheduler of a Dask cluster, and work handed out to its workers."""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

from haarbor.errors import EngineError, HaarborError
from haarbor.printable import printable

__all__ = ["ClusterSession"]

# What the bits of a result depend on, and what the two sides speak with each other.
_SAME_EVERYWHERE = ("haarbor", "numpy", "numba", "scipy", "dask", "distributed")
# How long a scheduler may take to answer, and how often new workers are looked for.
_ANSWER_SECONDS = 10.0
_LOOK_SECONDS = 0.5

_Task = TypeVar("_Task")
_Told = tuple[str, type[Warning]]
# A worker may have many threads, all of which one task uses; a second task would take its memory twice.
_ONE_AT_A_TIME = threading.Lock()


class ClusterSession:
    """Workers that are reached through a scheduler, for as long as a ``with`` block lasts.

    Parameters
    ----------
    scheduler : str or None
        Address of a scheduler, such as "tcp://10.0.0.5:8786"; None starts a cluster on this machine.
    workers : int
        Worker processes of the cluster on this machine.
    patience_seconds : float
        How long to wait for workers where there are none.

    Raises
    ------
    EngineError
        If Dask is not installed, the scheduler does not answer, there are no workers, or their versions
        are others than here.
    """

    def __init__(self, scheduler: str | None, workers: int, patience_seconds: float) -> None:
        distributed = _distributed()
        self._patience_seconds = patience_seconds
        self._wait = distributed.wait
        self._killed: type[Exception] = distributed.KilledWorker
        self._local: Any = None
        self._checked: set[str] = set()
        # Dask tells of lost connections in its own words, many lines of them.
        self._logger = logging.getLogger("distributed")
        self._level = self._logger.level
        self._logger.setLevel(logging.CRITICAL + 1)
        self._client: Any = None
        try:
            if scheduler is None:
                self._local = distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL, memory_limit=0,
                )  # fmt: skip
                scheduler = str(self._local.scheduler_address)
            self.address = printable(scheduler)
            self._client = self._connected(distributed, scheduler)
            self.workers()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ClusterSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection, and the cluster if it was started here."""
        try:
            if self._client is not None:
                self._client.close(timeout=2)
            if self._local is not None:
                self._local.close()
        # The other side may be gone, in any way.
        except Exception:
            self._logger.debug("closing failed", exc_info=True)
        finally:
            self._logger.setLevel(self._level)

    def _connected(self, distributed: Any, scheduler: str) -> Any:
        try:
            with warnings.catch_warnings():
                # Versions are compared below, in one line.
                warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
                return distributed.Client(
                    scheduler, timeout=_ANSWER_SECONDS, set_as_default=False, name="haarbor"
                )
        except (OSError, TimeoutError) as error:
            raise EngineError(
                f"a scheduler must answer at {self.address}; it did not within {_ANSWER_SECONDS:.0f} s. "
                "Start it with dask scheduler, or check the address and the firewall."
            ) from error
        except (ValueError, TypeError, ImportError, RuntimeError) as error:
            reason = printable(error).split("\\n")[0].rstrip(".")
            raise EngineError(
                f"the address of a scheduler must be one like tcp://host:8786; found {self.address} "
                f"({reason}). Copy it from the first lines of dask scheduler."
            ) from error

    def workers(self) -> dict[str, int]:
        """Threads of every worker by its address; waits a while if there are none.

        Raises
        ------
        EngineError
            If there are still none, one has other versions, or the scheduler is gone.
        """
        found: dict[str, int] = self._asked(self._client.nthreads)
        begun = time.monotonic()
        while not found:
            if time.monotonic() - begun >= self._patience_seconds:
                raise EngineError(
                    f"the scheduler at {self.address} must have a worker; it had none for "
                    f"{self._patience_seconds:g} s. Start some with dask worker {self.address}."
                )
            time.sleep(min(_LOOK_SECONDS, self._patience_seconds))
            found = self._asked(self._client.nthreads)
        if not self._checked.issuperset(found):
            self._require_same_versions()
            self._checked.update(found)
        return found

    def _require_same_versions(self) -> None:
        versions = self._asked(lambda: self._client.get_versions(packages=list(_SAME_EVERYWHERE)))
        here = _compared(versions["client"])
        for address, told in sorted(versions["workers"].items()):
            # A worker that ended meanwhile tells nothing.
            there = here if not isinstance(told, dict) else _compared(told)
            wrong = [
                f"{name} {there[name] or 'not at all'} (here {here[name]})"
                for name in here
                if there[name] != here[name]
            ]
            if wrong:
                raise EngineError(
                    f"every worker must have the versions of this process; {printable(address)} has "
                    f"{', '.join(map(printable, wrong))}. Install the same there, from one constraints file."
                )

    def completed(self, work: Callable[[_Task], Any], tasks: Sequence[_Task]) -> Iterator[tuple[int, Any]]:
        """Results of `work` on each task, as (place of the task, result), in the order they are done.

        Every worker has one task at a time, for which it uses all its threads. If a worker is lost, another
        one does its task. Workers that come later get tasks too.

        Parameters
        ----------
        work : function
            Of a module that the workers have too.
        tasks : sequence

        Raises
        ------
        HaarborError
            What `work` raised.
        EngineError
            If the scheduler is lost, or a task was the end of several workers.
        """
        waiting = deque(range(len(tasks)))
        running: dict[Any, tuple[int, str]] = {}
        done: deque[tuple[int, Any]] = deque()
        try:
            while waiting or running or done:
                busy = {address for _, address in running.values()}
                for address in [found for found in self.workers() if found not in busy][: len(waiting)]:
                    place = waiting.popleft()
                    # If that worker is lost, any other may do it.
                    running[self._submitted(work, tasks[place], address)] = (place, address)
                # What is done is passed on one by one, which may take the caller a while, and only when those
                # who did it have something new to do.
                finished = _finished(running) if done else self._done(list(running))
                done.extend((running.pop(future)[0], future) for future in finished)
                if done and not (finished and waiting):
                    place, future = done.popleft()
                    yield place, self._result(future)
        finally:
            if running and self._client.status == "running":
                self._client.cancel(list(running), force=True)

    def _submitted(self, work: Callable[[_Task], Any], task: _Task, address: str) -> Any:
        return self._asked(
            lambda: self._client.submit(
                _on_worker, work, task, pure=False, workers=[address], allow_other_workers=True
            )
        )

    def _done(self, futures: list[Any]) -> list[Any]:
        """Futures that are done, after waiting for one of them for a moment."""

        def wait() -> None:
            with self._client.as_current(), suppress(TimeoutError):
                self._wait(futures, timeout=_LOOK_SECONDS, return_when="FIRST_COMPLETED")

        self._asked(wait)
        return _finished(futures)

    def _result(self, future: Any) -> Any:
        if future.status == "error":
            error = self._asked(lambda: future.exception(timeout=_ANSWER_SECONDS))
            if isinstance(error, self._killed):
                n_lost = getattr(error, "allowed_failures", 3) + 1
                raise EngineError(
                    f"a worker must outlive its task; {n_lost} were lost one after the other with the same "
                    "one. Give them more memory, or set a limit with memory=; what was finished is kept."
                ) from None
            if isinstance(error, HaarborError | MemoryError | KeyboardInterrupt):
                raise error
            reason = (printable(error).split("\\n") or [""])[0].rstrip(".")
            raise EngineError(
                f"a worker must be able to do its task; it failed with {type(error).__name__}: {reason}. "
                "Look at its log; what was finished is kept."
            ) from error
        result, told = self._asked(lambda: future.result(timeout=None))
        for message, category in told:
            warnings.warn(message, category, stacklevel=4)
        return result

    def _asked(self, question: Callable[[], Any]) -> Any:
        """Answer of the scheduler; one line if it is gone."""
        from asyncio import CancelledError
        from concurrent.futures import CancelledError as FutureCancelledError

        try:
            if self._client.status == "running":
                answer = question()
                if self._client.status == "running":
                    return answer
        except TimeoutError:
            if self._client.status == "running":
                raise
        except (OSError, CancelledError, FutureCancelledError, RuntimeError):
            pass
        raise EngineError(
            f"the scheduler at {self.address} must stay until the work is done; the connection to it was "
            "lost. What was finished is kept: start it again, and run the same once more."
        )


def _finished(futures: Iterable[Any]) -> list[Any]:
    """Those that have ended, well or not."""
    return [future for future in futures if future.status in ("finished", "error")]


def _on_worker(work: Callable[[Any], Any], task: Any) -> tuple[Any, list[_Told]]:
    """Result of `work` on this worker with all its threads, and the warnings that were given."""
    from distributed import get_worker

    threads = int(get_worker().state.nthreads)
    with _ONE_AT_A_TIME, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        before = os.environ.get("HAARBOR_NUM_THREADS")
        os.environ["HAARBOR_NUM_THREADS"] = str(threads)
        try:
            result = work(task)
        finally:
            if before is None:
                del os.environ["HAARBOR_NUM_THREADS"]
            else:
                os.environ["HAARBOR_NUM_THREADS"] = before
    from haarbor.errors import HaarborWarning

    return result, [
        (str(told.message), told.category) for told in caught if issubclass(told.category, HaarborWarning)
    ]


def _compared(told: dict[str, Any]) -> dict[str, str | None]:
    """Versions that must be the same everywhere, of what a process tells of itself."""
    packages = told["packages"]
    python = ".".join(str(packages["python"]).split(".")[:2])
    return {"python": python, **{name: packages.get(name) for name in _SAME_EVERYWHERE}}


def _distributed() -> Any:
    try:
        import distributed
        import distributed.versions
    except ImportError as error:
        raise EngineError(
            f"engine='cluster' needs dask and distributed; {error.name or 'one of them'} is not installed. "
            "Run pip install 'haarbor[cluster]'."
        ) from None
    return distributed
