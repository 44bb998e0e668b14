"""Keys and their bytes, on a local disk or at a URL: all that the store needs of a place."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from haarbor.errors import StoreError
from haarbor.printable import printable
from haarbor.store._failures import storage_failures
from haarbor.store._local_keys import LocalKeys
from haarbor.store._local_path import checked_location, local_path

if TYPE_CHECKING:
    from zarr.abc.store import Store

__all__ = ["Keys", "Lock", "Place", "keys_at"]


Place = tuple[str, Mapping[str, Any] | None]


class Lock(Protocol):
    """The right to write to a place, until `release` is called."""

    def release(self) -> None:
        """Give the lock back; doing so twice is harmless."""


class Keys(Protocol):
    """A place with keys such as ``decoder/mask/c/0/0/0`` and bytes under them."""

    @property
    def address(self) -> str:
        """The place, as messages name it."""

    @property
    def place(self) -> Place | None:
        """Path or URL by which other processes find it, with options of its file system; None if none can."""

    def exists(self) -> bool:
        """Whether there is anything at the place."""

    def read(self, key: str, most_bytes: int) -> bytes | None:
        """Bytes of a key, at most so many; None if there is no such key.

        Raises
        ------
        DamagedPartError
            If there are more, or if it is no plain file.
        StoreError
            If it cannot be read, or lies outside the place.
        """

    def write(self, key: str, data: bytes, *, is_durable: bool = True) -> None:
        """Give a key its bytes: all of them or none; if `is_durable`, they outlive a loss of power."""

    def delete(self, *keys: str) -> None:
        """Remove keys; nothing happens for one that is not there."""

    def delete_below(self, prefix: str) -> None:
        """Remove all keys below a prefix."""

    def below(self, prefix: str = "") -> Iterator[str]:
        """All keys below a prefix, sorted; without leftovers of interrupted writes and foreign files."""

    def children(self, prefix: str) -> list[str]:
        """Names just below a prefix, sorted; without leftovers of interrupted writes and foreign files."""

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
        If it is no place, or the URL cannot be used.
    """
    if isinstance(location, (str, os.PathLike)) or not hasattr(location, "read_only"):
        text = checked_location(location)
        for scheme in ("file://", "local://"):
            if text.startswith(scheme):
                return LocalKeys(local_path(text.removeprefix(scheme)))
        if "://" not in text:
            return LocalKeys(Path(text))
        return _keys_at_url(text, read_only, storage_options)
    import zarr.storage as places
    from zarr.abc.store import Store as AnyStore

    if isinstance(location, places.LocalStore):
        return LocalKeys(Path(location.root))
    if not isinstance(location, AnyStore):
        raise StoreError(
            f"a location must be a path, a URL or a zarr store; found {type(location).__name__}. "
            "Pass one of these."
        )
    from haarbor.store._remote_keys import RemoteKeys

    store = location
    if location.read_only != read_only:
        # A store that can only be read stays as it is; writing to it raises its own error.
        with contextlib.suppress(NotImplementedError, ValueError):
            store = location.with_read_only(read_only)
    return RemoteKeys(store, str(location))


def _keys_at_url(text: str, read_only: bool, storage_options: Mapping[str, Any] | None) -> Keys:
    try:
        importlib.import_module("fsspec")
    except ImportError:
        raise StoreError(
            "a run at a URL needs the fsspec package, which is not installed. "
            "Run pip install 'haarbor[remote]'."
        ) from None
    from zarr.storage import FsspecStore

    from haarbor.store._remote_keys import RemoteKeys

    options = None if storage_options is None else dict(storage_options)
    with storage_failures(f"opening {text}", of_anything=True), _usable_url(text):
        store = FsspecStore.from_url(text, storage_options=options, read_only=read_only)
    # What is in memory is in the memory of this process only.
    return RemoteKeys(store, text, None if text.startswith("memory:") else (text, options))


@contextmanager
def _usable_url(url: str) -> Iterator[None]:
    try:
        yield
    except (ImportError, ValueError) as error:
        raise StoreError(
            f"a location must be a path or a URL that fsspec knows; {printable(url)} is neither: {error}. "
            "Check its beginning, or install what it needs."
        ) from None
