"""A disk with little room, mounted where no other process sees it."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["bytes_on_disk", "disk_of", "files_on_disk", "grown_disk", "own_mounts", "read_only_folder"]

_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_PRIVATE_BELOW, _REMOUNT, _BIND, _READ_ONLY, _DETACH = 0x4000 | 0x40000, 0x20, 0x1000, 0x1, 0x2
_PAGE = 4096


@functools.cache
def own_mounts() -> bool:
    """Give this process mounts of its own; False where the system does not let it.

    They are gone when the process ends, whatever it dies of.
    """
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        if libc.unshare(_NEW_MOUNTS | (0 if user == 0 else _NEW_USER)) != 0:
            return False
        if user != 0:
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1", encoding="ascii")
    except (AttributeError, OSError):
        return False
    return libc.mount(b"none", b"/", None, _PRIVATE_BELOW, None) == 0


def disk_of(folder: Path, n_bytes: int, n_files: int) -> bool:
    """Mount a disk of this size at a folder; False where that does not work."""
    return own_mounts() and _mounted(folder, 0, n_bytes, n_files)


def grown_disk(folder: Path) -> None:
    """Give a mounted disk all the room it needs."""
    _mounted(folder, _REMOUNT, 1 << 30, 100_000)


@contextmanager
def read_only_folder(folder: Path) -> Iterator[bool]:
    """Block in which not even root can write below a folder; gives False where that does not work."""
    libc = ctypes.CDLL(None, use_errno=True)
    path = os.fsencode(folder)
    bound = own_mounts() and libc.mount(path, path, None, _BIND, None) == 0
    try:
        yield bound and libc.mount(path, path, None, _BIND | _REMOUNT | _READ_ONLY, None) == 0
    finally:
        if bound:
            libc.umount2(path, _DETACH)


def _mounted(folder: Path, flags: int, n_bytes: int, n_files: int) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={n_bytes},nr_inodes={n_files}".encode("ascii")
    return bool(libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", flags, options) == 0)


def bytes_on_disk(folder: Path) -> int:
    """Room that the files below a folder take, in whole pages."""
    sizes = [path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sum(-(-size // _PAGE) * _PAGE for size in sizes)


def files_on_disk(folder: Path) -> int:
    """Files and folders below a folder, itself included."""
    return 1 + sum(1 for _ in folder.rglob("*"))
