"""Keys that are files below a folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from haarbor.errors import StoreError
from haarbor.printable import printable
from haarbor.store._damaged_part import DamagedPartError
from haarbor.store._failures import storage_failures
from haarbor.store._file_lock import FileLock
from haarbor.store._layout import LOCK, METADATA, UNFINISHED, is_passing
from haarbor.store._wait_for_disk import wait_for_disk

__all__ = ["LocalKeys"]

# Opening a pipe must not wait for its writer, and the ends of lines must not be changed.
_TO_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class LocalKeys:
    """Keys of a folder; see :class:`haarbor.store._keys.Keys`.

    Parameters
    ----------
    root : Path
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folders_inside: set[str] = set()

    @property
    def address(self) -> str:
        """The folder."""
        return printable(self.root)

    @property
    def place(self) -> tuple[str, None]:
        """The folder, whatever the working directory is."""
        return str(self.root.absolute()), None

    @cached_property
    def _real_root(self) -> str:
        return os.path.realpath(self.root)

    def exists(self) -> bool:
        """Whether there is a file or folder of that name."""
        with storage_failures(f"looking for {self.root}"):
            return self.root.exists()

    def read(self, key: str, most_bytes: int) -> bytes | None:
        """Bytes of a key, at most so many; None if there is no such key."""
        path = os.path.join(self.root, key)  # noqa: PTH118  (Path takes longer than the reading)
        with storage_failures(f"reading {path}"):
            try:
                self._require_inside(path)
                kind = os.stat(path).st_mode  # noqa: PTH116
                if stat.S_ISDIR(kind):
                    raise DamagedPartError("it is a folder")
                # It is not even opened: opening a device may change something.
                if not stat.S_ISREG(kind):
                    raise DamagedPartError("it is no plain file")
                descriptor = os.open(path, _TO_READ)
                try:
                    return _bounded(descriptor, most_bytes)
                finally:
                    os.close(descriptor)
            except (FileNotFoundError, NotADirectoryError):
                if os.path.islink(path):  # noqa: PTH114
                    raise DamagedPartError("it is a link to nothing") from None
                return None

    def write(self, key: str, data: bytes, *, is_durable: bool = True) -> None:
        """Give a key its bytes: all of them or none; if `is_durable`, they outlive a loss of power."""
        path = self.root / key
        with storage_failures(f"writing {path}"):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._require_inside(path.parent)
            unfinished = path.with_name(path.name + UNFINISHED)
            try:
                # Whatever has that name is removed, not written into: it may be a link or a pipe.
                unfinished.unlink(missing_ok=True)
                with unfinished.open("xb") as file:
                    file.write(data)
                    if is_durable:
                        file.flush()
                        os.fsync(file.fileno())
                unfinished.replace(path)
            except Exception:
                unfinished.unlink(missing_ok=True)
                raise
            if is_durable:
                self._make_names_durable([path])

    def delete(self, *keys: str) -> None:
        """Remove keys; nothing happens for one that is not there."""
        paths = [self.root / key for key in keys]
        with storage_failures(f"removing files from {self.root}"):
            for path in paths:
                self._remove(path)
            # No name above these has changed.
            self._wait_for_folders({path.parent for path in paths})

    def delete_below(self, prefix: str) -> None:
        """Remove all keys below a prefix, and its folder."""
        with storage_failures(f"removing {self.root / prefix}"):
            self._remove(self.root / prefix)

    def _remove(self, path: Path) -> None:
        try:
            self._require_inside(path.parent)
            # A link is removed, what it leads to is not.
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            return

    def below(self, prefix: str = "") -> Iterator[str]:
        """All keys below a prefix, sorted; without leftovers of interrupted writes and foreign files."""
        found: list[str] = []
        folders = [prefix]
        while folders:
            folder = folders.pop()
            for entry in self._entries(folder):
                key = f"{folder}/{entry.name}" if folder else entry.name
                # No group and no array is called like a description. A folder, a pipe or a link in place
                # of one is a key, so that reading it says what is wrong.
                is_folder = entry.name != METADATA and entry.is_dir(follow_symlinks=False)
                (folders if is_folder else found).append(key)
        return iter(sorted(found))

    def children(self, prefix: str) -> list[str]:
        """Names just below a prefix, sorted; without leftovers of interrupted writes and foreign files."""
        return sorted(entry.name for entry in self._entries(prefix))

    def _entries(self, prefix: str) -> list[os.DirEntry[str]]:
        with storage_failures(f"listing {self.root / prefix}"):
            try:
                with os.scandir(self.root / prefix) as entries:
                    return [entry for entry in entries if not is_passing(entry.name)]
            except (FileNotFoundError, NotADirectoryError):
                return []

    def make_durable(self, keys: Iterable[str]) -> None:
        """Return when the bytes of the keys outlive a loss of power."""
        paths = [self.root / key for key in keys]
        with storage_failures(f"writing {self.root} to disk"):
            wait_for_disk(paths)
            self._make_names_durable(paths)

    def _make_names_durable(self, paths: Iterable[Path]) -> None:
        folders: set[Path] = set()
        for path in paths:
            folder = path.parent
            # Above a folder that is known already all are.
            while folder not in folders and folder.is_relative_to(self.root):
                folders.add(folder)
                folder = folder.parent
        self._wait_for_folders(folders)

    def _wait_for_folders(self, folders: Iterable[Path]) -> None:
        if os.name == "posix":
            wait_for_disk([folder for folder in folders if folder.is_dir()])

    def sweep(self, prefix: str = "", *, except_below: str | None = None) -> None:
        """Remove what interrupted writes left over; call it only while holding the lock."""
        spared = None if except_below is None else self.root / except_below
        with storage_failures(f"tidying {self.root}"):
            for path in list((self.root / prefix).rglob(f"*{UNFINISHED}")):
                is_spared = spared is not None and path.is_relative_to(spared)
                if not is_spared and (path.is_symlink() or not path.is_dir()):
                    path.unlink(missing_ok=True)

    def n_bytes(self) -> int:
        """Bytes in all files."""
        total = 0
        with storage_failures(f"looking at the files of {self.root}"):
            for key in self.below():
                # Another process may be writing, and what is being written anew is counted once.
                with contextlib.suppress(FileNotFoundError):
                    total += (self.root / key).lstat().st_size
        return total

    def free_bytes(self) -> int | None:
        """Bytes that a user without special rights may still write."""
        with storage_failures(f"looking for space at {self.root}"):
            whole = self.root.absolute()
            nearest = next(folder for folder in (whole, *whole.parents) if folder.exists())
            return shutil.disk_usage(nearest).free

    def lock(self, name: str, *, patience_seconds: float = 0.0) -> FileLock:
        """Take the lock called `name`, making the folder if there is none."""
        with storage_failures(f"opening {self.root} for writing"):
            if self.root.exists() and not self.root.is_dir():
                raise StoreError(f"a run must be a folder; {self.address} is a file. Choose another place.")
            self.root.mkdir(parents=True, exist_ok=True)
            return FileLock(self.root / f".{name}{LOCK}", self.address, patience_seconds=patience_seconds)

    def _require_inside(self, path: str | Path) -> None:
        """StoreError if links lead from the folder to somewhere else."""
        folder = os.path.dirname(path)  # noqa: PTH120
        if folder in self._folders_inside and not os.path.islink(path):  # noqa: PTH114
            return
        real = os.path.realpath(path, strict=True)
        if real == self._real_root or real.startswith(self._real_root.rstrip(os.sep) + os.sep):
            self._folders_inside.add(folder)
            return
        raise StoreError(
            f"the files of a run must lie inside it; {printable(path)} is behind a link to "
            f"{printable(real)}. Copy the run with its links followed, as cp -rL does, or put "
            "the file in place of the link."
        )


def _bounded(descriptor: int, most_bytes: int) -> bytes:
    size = os.fstat(descriptor).st_size
    parts: list[bytes] = []
    left = most_bytes + 1
    # Files of the system, as in /proc, claim to be empty, so the bytes are also counted as they are read.
    while left > 0 and size <= most_bytes:
        part = os.read(descriptor, min(left, max(size + 1, 2**16)))
        if not part:
            return parts[0] if len(parts) == 1 else b"".join(parts)
        parts.append(part)
        left -= len(part)
    raise DamagedPartError(f"it holds more than the {most_bytes} bytes that could be right")
