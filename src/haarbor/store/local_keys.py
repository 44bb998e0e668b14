"""Keys that are files below a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from haarbor.errors import StoreError
from haarbor.store.failures import storage_failures
from haarbor.store.file_lock import FileLock

if TYPE_CHECKING:
    from zarr.storage import LocalStore

__all__ = ["LocalKeys"]

# zarr's own writes end the same way until they are complete.
_UNFINISHED = ".partial"
_LOCK = ".lock"


class LocalKeys:
    """Keys of a folder; see :class:`haarbor.store.keys.Keys`.

    Parameters
    ----------
    root : Path
    read_only : bool
    """

    def __init__(self, root: Path, *, read_only: bool) -> None:
        self.root = root
        self._read_only = read_only

    @property
    def address(self) -> str:
        """The folder."""
        return str(self.root)

    @cached_property
    def zarr_store(self) -> LocalStore:
        """The folder as zarr sees it."""
        from zarr.storage import LocalStore

        return LocalStore(self.root, read_only=self._read_only)

    def exists(self) -> bool:
        """Whether there is a file or folder of that name."""
        return self.root.exists()

    def read(self, key: str) -> bytes | None:
        """Bytes of a key; None if there is no such key."""
        with storage_failures(f"reading {self.root / key}"):
            try:
                return (self.root / key).read_bytes()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None

    def tail(self, key: str, n_bytes: int) -> bytes | None:
        """Last bytes of a key; None if there is no such key."""
        with storage_failures(f"reading {self.root / key}"):
            try:
                with (self.root / key).open("rb") as file:
                    size = file.seek(0, os.SEEK_END)
                    file.seek(max(0, size - n_bytes))
                    return file.read()
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None

    def write(self, key: str, data: bytes) -> None:
        """Give a key its bytes: all of them or none, and they outlive a loss of power."""
        path = self.root / key
        with storage_failures(f"writing {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_name(path.name + _UNFINISHED)
            try:
                with unfinished.open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                unfinished.replace(path)
            except Exception:
                unfinished.unlink(missing_ok=True)
                raise
            self._make_names_durable([path])

    def delete(self, *keys: str) -> None:
        """Remove keys; nothing happens for one that is not there."""
        paths = [self.root / key for key in keys]
        with storage_failures(f"removing files from {self.root}"):
            for path in paths:
                path.unlink(missing_ok=True)
            self._make_names_durable(paths)

    def delete_below(self, prefix: str) -> None:
        """Remove all keys below a prefix, and its folder."""
        with storage_failures(f"removing {self.root / prefix}"):
            if (self.root / prefix).is_dir():
                shutil.rmtree(self.root / prefix)

    def below(self, prefix: str = "") -> Iterator[str]:
        """All keys below a prefix, leftovers of interrupted writes not counted."""
        for path in sorted((self.root / prefix).rglob("*")):
            if path.suffix not in (_UNFINISHED, _LOCK) and path.is_file():
                yield path.relative_to(self.root).as_posix()

    def children(self, prefix: str) -> list[str]:
        """Names just below a prefix, sorted."""
        folder = self.root / prefix
        if not folder.is_dir():
            return []
        return sorted(path.name for path in folder.iterdir() if path.suffix not in (_UNFINISHED, _LOCK))

    def make_durable(self, keys: Iterable[str]) -> None:
        """Return when the bytes of the keys outlive a loss of power."""
        paths = [self.root / key for key in keys]
        with storage_failures(f"writing {self.root} to disk"):
            for path in paths:
                with path.open("rb") as file:
                    os.fsync(file.fileno())
            self._make_names_durable(paths)

    def _make_names_durable(self, paths: Iterable[Path]) -> None:
        if os.name != "posix":
            return
        folders: set[Path] = set()
        for path in paths:
            inside = [folder for folder in path.parents if folder.is_relative_to(self.root)]
            folders.update(folder for folder in inside if folder.is_dir())
        for folder in sorted(folders, key=lambda folder: -len(folder.parts)):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def sweep(self, prefix: str = "", *, except_below: str | None = None) -> None:
        """Remove what interrupted writes left over; call it only while holding the lock."""
        spared = None if except_below is None else self.root / except_below
        with storage_failures(f"tidying {self.root}"):
            for path in list((self.root / prefix).rglob(f"*{_UNFINISHED}")):
                if spared is None or not path.is_relative_to(spared):
                    path.unlink(missing_ok=True)

    def n_bytes(self) -> int:
        """Bytes in all files."""
        return sum((self.root / key).stat().st_size for key in self.below())

    def free_bytes(self) -> int | None:
        """Bytes that a user without special rights may still write."""
        nearest = next(
            folder for folder in (self.root.absolute(), *self.root.absolute().parents) if folder.exists()
        )
        return shutil.disk_usage(nearest).free

    def lock(self, name: str, *, patience_seconds: float = 0.0) -> FileLock:
        """Take the lock called `name`, making the folder if there is none."""
        if self.root.exists() and not self.root.is_dir():
            raise StoreError(f"a run must be a folder; {self.root} is a file. Choose another place.")
        with storage_failures(f"opening {self.root} for writing"):
            self.root.mkdir(parents=True, exist_ok=True)
            return FileLock(self.root / f".{name}{_LOCK}", self.address, patience_seconds=patience_seconds)
