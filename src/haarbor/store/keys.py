"""Keys and their bytes, on a local disk or at a URL: what the store needs of the place it lies at."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from haarbor.errors import StoreError
from haarbor.store.failures import storage_failures

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["Keys", "Lock", "keys_at"]


class Lock(Protocol):
    """Right to write, given back by `release`."""

    def release(self) -> None:
        """Give the lock back; doing so twice is harmless."""


class Keys(Protocol):
    """A place with keys such as ``decoder/mask/c/0/0/0`` and bytes under them."""

    @property
    def address(self) -> str:
        """The place, as messages name it."""

    @property
    def zarr_store(self) -> Store:
        """The same place as zarr sees it."""

    def exists(self) -> bool:
        """Whether there is anything at the place."""

    def read(self, key: str) -> bytes | None:
        """Bytes of a key; None if there is no such key."""

    def tail(self, key: str, n_bytes: int) -> bytes | None:
        """Last bytes of a key; None if there is no such key."""

    def write(self, key: str, data: bytes) -> None:
        """Give a key its bytes: all of them or none, and they outlive a loss of power."""

    def delete(self, *keys: str) -> None:
        """Remove keys; nothing happens for one that is not there."""

    def delete_below(self, prefix: str) -> None:
        """Remove all keys below a prefix."""

    def below(self, prefix: str = "") -> Iterator[str]:
        """All keys below a prefix, leftovers of interrupted writes not counted."""

    def children(self, prefix: str) -> list[str]:
        """Names just below a prefix, sorted."""

    def make_durable(self, keys: Iterable[str]) -> None:
        """Return when the bytes of the keys outlive a loss of power."""

    def sweep(self, prefix: str = "", *, except_below: str | None = None) -> None:
        """Remove what interrupted writes left over; call it only while holding the lock."""

    def n_bytes(self) -> int:
        """Bytes stored."""

    def free_bytes(self) -> int | None:
        """Bytes that still fit; None where that cannot be known."""

    def lock(self, name: str, *, patience_seconds: float = 0.0) -> Lock:
        """Take the lock called `name`; StoreError if another holds it for longer than `patience_seconds`."""


def keys_at(
    location: str | os.PathLike[str] | Store,
    *,
    read_only: bool,
    storage_options: Mapping[str, Any] | None = None,
) -> Keys:
    """Keys of a local path, of a URL, or of a zarr store.

    Parameters
    ----------
    location : str, path or zarr.abc.store.Store
        A folder, a ``file://`` address, any fsspec URL, or a store that zarr made, such as its
        ``ObjectStore`` around an obstore bucket.
    read_only : bool
    storage_options : mapping, optional
        For the file system of a URL.

    Returns
    -------
    Keys

    Raises
    ------
    StoreError
        If zarr is not installed or the URL cannot be used.
    """
    try:
        import zarr.storage as places
        from zarr.abc.store import Store as AnyStore
    except ImportError:
        raise StoreError("a run needs zarr 3; it is not installed. Run pip install 'zarr>=3.1'.") from None
    from haarbor.store.local_keys import LocalKeys
    from haarbor.store.remote_keys import RemoteKeys

    if isinstance(location, places.LocalStore):
        return LocalKeys(Path(location.root), read_only=read_only)
    if isinstance(location, AnyStore):
        store = location if location.read_only == read_only else location.with_read_only(read_only)
        return RemoteKeys(store, str(location))
    text = os.fspath(location)
    for scheme in ("file://", "local://"):
        if text.startswith(scheme):
            return LocalKeys(Path(text.removeprefix(scheme)), read_only=read_only)
    if "://" not in text:
        return LocalKeys(Path(text), read_only=read_only)
    with _usable_url(text), storage_failures(f"opening {text}"):
        options = None if storage_options is None else dict(storage_options)
        return RemoteKeys(
            places.FsspecStore.from_url(text, storage_options=options, read_only=read_only), text
        )


@contextmanager
def _usable_url(url: str) -> Iterator[None]:
    try:
        yield
    except (ImportError, ValueError) as error:
        raise StoreError(
            f"a location must be a path or a URL that fsspec knows; {url!r} is neither: {error}."
        ) from None
