"""Files written whole or not at all, and only where a file may be."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from haarbor.errors import HaarborError, StoreError
from haarbor.options import require_path

__all__ = ["file_place", "whole_file"]

_MOST_LINKS = 40
_ADVICE = {
    errno.ENOSPC: "Free some space, or choose another place.",
    errno.EDQUOT: "Free some space, or choose another place.",
    errno.EACCES: "Change its permissions, or choose another place.",
    errno.EPERM: "Change its permissions, or choose another place.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}


def file_place(path: str | os.PathLike[str], what: str) -> Path:
    """Where a file that is to be written will lie: links are followed, and stay links.

    Asked before long work, so that its result is not made for a place that cannot have it.

    Parameters
    ----------
    path : str or path
    what : str
        As in "the report", for messages.

    Returns
    -------
    pathlib.Path
        A regular file, or a name in a folder where nothing lies yet.

    Raises
    ------
    SettingError
        If `path` is no path.
    StoreError
        If a folder, a device, a pipe or an open stream lies there, there is no such folder, or it
        may not be written.
    """
    text = require_path(f"the place of {what}", path)
    with _failures(what, text):
        place = _end_of_links(Path(text), what, text)
        if not place.parent.is_dir():
            raise StoreError(
                f"{what} must be written into a folder; there is no {place.parent}. Make it first."
            )
        try:
            mode = place.stat().st_mode
        except FileNotFoundError:
            mode = stat.S_IFREG
        if not stat.S_ISREG(mode):
            kind = "a folder" if stat.S_ISDIR(mode) else "a device, a pipe or a socket"
            raise StoreError(f"{what} must be written to a file; {text} is {kind}. Choose another name.")
        # A file is replaced, so both its folder and, because its owner may have locked it, itself.
        for written in (place.parent, place):
            if written.exists() and not _may_be_written(written):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return place


@contextmanager
def whole_file(path: str | os.PathLike[str], what: str) -> Iterator[Path]:
    """Write a file so that a reader sees all of it or what was there before.

    The block writes to the path it is given, beside the place; when the block is left without an
    error the file takes its place, keeping the permissions of one that was there. Otherwise nothing
    is left behind.

    Parameters
    ----------
    path : str or path
        A regular file, or a name in a folder where nothing lies yet; links are followed.
    what : str
        As in "the report", for messages.

    Yields
    ------
    pathlib.Path
        An empty file with a name of its own, whatever the ending of `path`.

    Raises
    ------
    SettingError, StoreError
        As :func:`file_place` does; and StoreError if writing fails.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(f"{folder}/note.txt", "a note") as unfinished:
    ...         _ = unfinished.write_text("all of it")
    ...     [(file.name, file.read_text()) for file in Path(folder).iterdir()]
    [('note.txt', 'all of it')]
    """
    place = file_place(path, what)
    unfinished = place.with_name(f".haarbor-{secrets.token_hex(8)}.partial")
    with _failures(what, os.fspath(path)):
        try:
            os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            yield unfinished
            with unfinished.open("r+b") as file:
                os.fsync(file.fileno())
            if place.exists():
                unfinished.chmod(stat.S_IMODE(place.stat().st_mode))
            unfinished.replace(place)
        finally:
            unfinished.unlink(missing_ok=True)


def _end_of_links(place: Path, what: str, asked: str) -> Path:
    for _ in range(_MOST_LINKS):
        folder = Path(os.path.realpath(place.parent))
        # Its links, such as that of /dev/stdout, stand for files that others have open.
        if folder.is_relative_to("/proc"):
            raise StoreError(
                f"{what} must be written to a file; {asked} is an open stream. Choose another name."
            )
        place = folder / place.name
        if not place.is_symlink():
            return place
        place = folder / place.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _may_be_written(place: Path) -> bool:
    return os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


@contextmanager
def _failures(what: str, asked: str) -> Iterator[None]:
    try:
        yield
    except HaarborError:
        raise
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        advice = _ADVICE.get(error.errno or 0, "Choose another place.")
        failure = StoreError(f"{what} must be writable; {asked}: {reason}. {advice}")
        failure.errno = error.errno
        raise failure from error
