"""Keys at a URL, in a bucket, in memory: anything zarr has a store for."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar

from haarbor.errors import StoreError
from haarbor.printable import printable
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._failures import storage_failures
from haarbor.store._layout import LOCK, is_passing

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["RemoteKeys", "RemoteLock"]

_Answer = TypeVar("_Answer")
_MOST_LOCK_BYTES = 2**16


class RemoteKeys:
    """Keys of a zarr store; see :class:`haarbor.store._keys.Keys`.

    Object stores replace an object as a whole and keep what they acknowledged, which is what
    "atomic" and "durable" rest on here.

    Parameters
    ----------
    store : zarr.abc.store.Store
    address : str
        For messages.
    place : (str, mapping or None), optional
        URL and options by which other processes find it, where they can.
    """

    def __init__(
        self, store: Store, address: str, place: tuple[str, Mapping[str, Any] | None] | None = None
    ) -> None:
        self._store = store
        self.place = place
        self._address = printable(address)

    @property
    def address(self) -> str:
        """The URL."""
        return self._address

    def exists(self) -> bool:
        """Whether there is any key."""
        return bool(self.children(""))

    def read(self, key: str, most_bytes: int) -> bytes | None:
        """Bytes of a key, at most so many; None if there is no such key."""
        from zarr.buffer import default_buffer_prototype

        with _remote_failures(f"reading {self._address}/{key}"):
            is_answered, found = self._read_at_once(key, most_bytes)
            if is_answered:
                return found
            try:
                if _answer(self._store.getsize(key)) > most_bytes:
                    raise DamagedPartError(f"it holds more than the {most_bytes} bytes that could be right")
            except (FileNotFoundError, KeyError):
                return None
            whole = _answer(self._store.get(key, default_buffer_prototype()))
        return None if whole is None else whole.to_bytes()

    def _read_at_once(self, key: str, most_bytes: int) -> tuple[bool, bytes | None]:
        """Whether a single request was enough, and the bytes of the key, None if there is no such key.

        It asks for the first so many bytes. To ask for the size before would take two requests more for
        every object.
        """
        from zarr.abc.store import RangeByteRequest
        from zarr.buffer import default_buffer_prototype
        from zarr.storage import FsspecStore

        if not isinstance(self._store, FsspecStore):
            return False, None
        try:
            part = _answer(
                self._store.get(key, default_buffer_prototype(), RangeByteRequest(0, most_bytes + 1))
            )
        # No range of an empty object can be read, and some servers know no ranges.
        except (OSError, ValueError):
            return False, None
        if part is None:
            return True, None
        if len(part) > most_bytes:
            raise DamagedPartError(f"it holds more than the {most_bytes} bytes that could be right")
        return True, part.to_bytes()

    def write(self, key: str, data: bytes, *, is_durable: bool = True) -> None:
        """Give a key its bytes, all of them or none."""
        from zarr.buffer import cpu

        with _remote_failures(f"writing {self._address}/{key}"):
            _answer(self._store.set(key, cpu.Buffer.from_bytes(data)))

    def delete(self, *keys: str) -> None:
        """Remove keys; nothing happens for one that is not there."""
        with _remote_failures(f"removing objects from {self._address}"):
            for key in keys:
                _answer(self._store.delete(key))

    def delete_below(self, prefix: str) -> None:
        """Remove all keys below a prefix."""
        with _remote_failures(f"removing {self._address}/{prefix}"):
            _answer(self._store.delete_dir(prefix))

    def below(self, prefix: str = "") -> Iterator[str]:
        """All keys below a prefix, sorted; without locks and foreign files."""
        with _remote_failures(f"listing {self._address}"):
            found = _answer(_gathered(self._store.list_prefix(f"{prefix}/" if prefix else "")))
        # Some file systems answer with a slash in front.
        names = sorted(key.lstrip("/") for key in found)
        return (key for key in names if not any(map(is_passing, key.split("/"))))

    def children(self, prefix: str) -> list[str]:
        """Names just below a prefix, sorted; without locks and foreign files."""
        with _remote_failures(f"listing {self._address}"):
            found = _answer(_gathered(self._store.list_dir(prefix)))
        names = {name.strip("/").split("/")[-1] for name in found}
        return sorted(name for name in names if name and not is_passing(name))

    def make_durable(self, keys: Iterable[str]) -> None:
        """Nothing to do: what was acknowledged is kept."""

    def sweep(self, prefix: str = "", *, except_below: str | None = None) -> None:
        """Nothing to do: an interrupted write leaves no object."""

    def n_bytes(self) -> int:
        """Bytes of all objects."""
        with _remote_failures(f"listing {self._address}"):
            return sum(_answer(self._store.getsize(key)) for key in self.below())

    def free_bytes(self) -> int | None:
        """None: object stores do not say."""
        return None

    def lock(self, name: str, *, patience_seconds: float = 0.0) -> RemoteLock:
        """Take the lock called `name`, as reliably as object stores allow."""
        return RemoteLock(self, f".{name}{LOCK}", patience_seconds=patience_seconds)


class RemoteLock:
    """A key that says who writes, held from construction to `release`.

    This is not safe in every case: between looking for the key and writing it another process may do
    the same, which is noticed in most cases because the key is read back afterwards. The lock of a
    process that died on this machine is taken over; one that died elsewhere leaves a key that has to be
    removed by hand.

    Parameters
    ----------
    keys : RemoteKeys
    key : str
    patience_seconds : float, default 0

    Raises
    ------
    StoreError
        If another process holds the lock for longer.
    """

    def __init__(self, keys: RemoteKeys, key: str, *, patience_seconds: float = 0.0) -> None:
        self._keys = keys
        self._key = key
        own = {"host": socket.gethostname(), "process": os.getpid(), "token": secrets.token_hex(8)}
        self._own = json.dumps(own).encode("ascii")
        deadline = time.monotonic() + patience_seconds
        while True:
            holder = self._living_holder()
            if holder is None:
                keys.write(key, self._own)
                if keys.read(key, _MOST_LOCK_BYTES) == self._own:
                    break
                holder = self._living_holder() or "another process"
            if time.monotonic() >= deadline:
                raise StoreError(
                    f"one process at a time may write to {keys.address}; {holder} does now. Wait for it to "
                    f"end; if it is dead, remove the object {key!r} there."
                )
            time.sleep(0.02)
        self._held = True

    def _living_holder(self) -> str | None:
        found = self._keys.read(self._key, _MOST_LOCK_BYTES)
        if found is None:
            return None
        try:
            holder = json.loads(found)
            host, process = printable(str(holder["host"])), int(holder["process"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return "another process"
        if host == socket.gethostname() and not _alive(process):
            return None
        return f"process {process} on {host}"

    def release(self) -> None:
        """Give the lock back; doing so twice is harmless."""
        if self._held:
            self._held = False
            if self._keys.read(self._key, _MOST_LOCK_BYTES) == self._own:
                self._keys.delete(self._key)


def _remote_failures(doing: str) -> AbstractContextManager[None]:
    return storage_failures(doing, of_anything=True)


def _alive(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _answer(question: Coroutine[Any, Any, _Answer]) -> _Answer:
    # Remote file systems keep connections that belong to zarr's event loop, so no other will do.
    from zarr.core.sync import sync

    return sync(question)


async def _gathered(items: AsyncIterator[str]) -> list[str]:
    return [item async for item in items]
