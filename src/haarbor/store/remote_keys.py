"""Keys at a URL, in a bucket, in memory: anything zarr has a store for."""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from haarbor.errors import StoreError
from haarbor.store.failures import storage_failures

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["RemoteKeys", "RemoteLock"]

_Answer = TypeVar("_Answer")


class RemoteKeys:
    """Keys of a zarr store; see :class:`haarbor.store.keys.Keys`.

    Object stores replace an object as a whole and keep what they acknowledged, which is what
    "atomic" and "durable" rest on here.

    Parameters
    ----------
    store : zarr.abc.store.Store
    address : str
        For messages.
    """

    def __init__(self, store: Store, address: str) -> None:
        self._store = store
        self._address = address

    @property
    def address(self) -> str:
        """The URL."""
        return self._address

    @property
    def zarr_store(self) -> Store:
        """The store itself."""
        return self._store

    def exists(self) -> bool:
        """Whether there is any key."""
        return bool(self.children(""))

    def read(self, key: str) -> bytes | None:
        """Bytes of a key; None if there is no such key."""
        return self._read(key, None)

    def tail(self, key: str, n_bytes: int) -> bytes | None:
        """Last bytes of a key; None if there is no such key."""
        from zarr.abc.store import SuffixByteRequest

        return self._read(key, SuffixByteRequest(n_bytes))

    def _read(self, key: str, part: Any) -> bytes | None:
        from zarr.buffer import default_buffer_prototype

        with storage_failures(f"reading {self._address}/{key}"):
            found = _answer(self._store.get(key, default_buffer_prototype(), part))
        return None if found is None else found.to_bytes()

    def write(self, key: str, data: bytes) -> None:
        """Give a key its bytes, all of them or none."""
        from zarr.buffer import cpu

        with storage_failures(f"writing {self._address}/{key}"):
            _answer(self._store.set(key, cpu.Buffer.from_bytes(data)))

    def delete(self, *keys: str) -> None:
        """Remove keys; nothing happens for one that is not there."""
        with storage_failures(f"removing objects from {self._address}"):
            for key in keys:
                _answer(self._store.delete(key))

    def delete_below(self, prefix: str) -> None:
        """Remove all keys below a prefix."""
        with storage_failures(f"removing {self._address}/{prefix}"):
            _answer(self._store.delete_dir(prefix))

    def below(self, prefix: str = "") -> Iterator[str]:
        """All keys below a prefix, locks not counted."""
        with storage_failures(f"listing {self._address}"):
            found = _answer(_gathered(self._store.list_prefix(f"{prefix}/" if prefix else "")))
        # Some file systems answer with a slash in front.
        names = sorted(key.lstrip("/") for key in found)
        return (key for key in names if not key.endswith(".lock"))

    def children(self, prefix: str) -> list[str]:
        """Names just below a prefix, sorted."""
        with storage_failures(f"listing {self._address}"):
            found = _answer(_gathered(self._store.list_dir(prefix)))
        names = {name.strip("/").split("/")[-1] for name in found}
        return sorted(name for name in names if name and not name.endswith(".lock"))

    def make_durable(self, keys: Iterable[str]) -> None:
        """Nothing to do: what was acknowledged is kept."""

    def sweep(self, prefix: str = "", *, except_below: str | None = None) -> None:
        """Nothing to do: an interrupted write leaves no object."""

    def n_bytes(self) -> int:
        """Bytes of all objects."""
        with storage_failures(f"listing {self._address}"):
            return sum(_answer(self._store.getsize(key)) for key in self.below())

    def free_bytes(self) -> int | None:
        """None: object stores do not say."""
        return None

    def lock(self, name: str, *, patience_seconds: float = 0.0) -> RemoteLock:
        """Take the lock called `name`, as well as object stores allow."""
        return RemoteLock(self, f".{name}.lock", patience_seconds=patience_seconds)


class RemoteLock:
    """A key that says who writes, held from construction to `release`.

    Best effort: between looking for the key and writing it another process may do the same, which
    reading it back afterwards catches in most cases. A holder that died on this machine is noticed
    and replaced; one that died elsewhere leaves a key to be removed by hand.

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
                if keys.read(key) == self._own:
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
        found = self._keys.read(self._key)
        if found is None:
            return None
        try:
            holder = json.loads(found)
            host, process = str(holder["host"]), int(holder["process"])
        except (ValueError, KeyError, TypeError):
            return "another process"
        if host == socket.gethostname() and not _alive(process):
            return None
        return f"process {process} on {host}"

    def release(self) -> None:
        """Give the lock back; doing so twice is harmless."""
        if self._held:
            self._held = False
            if self._keys.read(self._key) == self._own:
                self._keys.delete(self._key)


def _alive(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
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
