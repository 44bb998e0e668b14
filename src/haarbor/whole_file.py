"""Files that are written completely or not at all, and only where a file can be."""

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
    """Path at which a file will be written, after symbolic links have been followed.

    Ask for it before long work, so that a place that cannot be written is known before the work is done.

    Parameters
    ----------
    path : str or path
    what : str
        What messages call the file, such as "the report".

    Returns
    -------
    pathlib.Path
        A regular file, or a name in a folder that does not have it yet.

    Raises
    ------
    SettingError
        If `path` is not a path.
    StoreError
        If there is a folder, a device, a pipe or an open stream of that name, its folder does not exist,
        or it may not be written.
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
        # A file is replaced, for which its folder must be writable; a file that its owner has made
        # read-only is not replaced either.
        for written in (place.parent, place):
            if written.exists() and not _may_be_written(written):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return place


@contextmanager
def whole_file(path: str | os.PathLike[str], what: str) -> Iterator[Path]:
    """Write a file so that a reader sees either all of it or what was there before.

    The block writes to a temporary file in the same folder. When the block ends without an error, the
    temporary file replaces `path` and keeps the permissions of the file that was there. After an error
    nothing is left behind.

    Parameters
    ----------
    path : str or path
        A regular file, or a name in a folder that does not have it yet; links are followed.
    what : str
        What messages call the file, such as "the report".

    Yields
    ------
    pathlib.Path
        The empty temporary file; its ending is not that of `path`.

    Raises
    ------
    SettingError, StoreError
        As for :func:`file_place`; StoreError also if writing fails.

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
        # Links in /proc, such as that of /dev/stdout, stand for open streams.
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
