"""Folders that are written completely or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from haarbor.errors import HaarborError, SettingError, StoreError
from haarbor.pruning._exchanged_folders import exchanged_folders

__all__ = ["folder_place", "found_folder", "whole_folder"]

# A folder with one of these holds a network that an earlier run wrote, and may be replaced by another.
_NETWORKS = (("pruned.json",), ("config.json", "model.safetensors"))
_ADVICE = {
    errno.ENOSPC: "Free some space, or choose another place.",
    errno.EDQUOT: "Free some space, or choose another place.",
    errno.EACCES: "Change its permissions, or choose another place.",
    errno.EPERM: "Change its permissions, or choose another place.",
    errno.EROFS: "Choose another place.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}


def folder_place(path: str | os.PathLike[str]) -> Path:
    """Where the folder of a network will lie, if one may be written there.

    Parameters
    ----------
    path : str or path
        A new name, an empty folder, or the folder of a network that is to be replaced.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    SettingError
        If `path` is no path.
    StoreError
        If something else lies there, or a file cannot be made beside it.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise SettingError(
            f"the place of a network must be a path; found {path!r}. Pass the name of a folder."
        )
    text = os.fspath(path)
    if not text or "\0" in text:
        raise SettingError(
            f"the place of a network must be a path; found {text!r}. Pass the name of a folder."
        )
    with _failures(text):
        place = Path(os.path.abspath(text))  # noqa: PTH100 - links must not be followed
        if place.is_symlink():
            raise StoreError(
                f"a network must be written to a folder of its own; {text} is a link. Remove it."
            )
        if place.exists() and not place.is_dir():
            raise StoreError(f"a network must be written to a folder; {text} is none. Choose another name.")
        if place.is_dir():
            names = {entry.name for entry in place.iterdir()}
            if names and not any(names.issuperset(network) for network in _NETWORKS):
                raise StoreError(
                    "a network must be written to a new or an empty folder, or in place of an earlier one; "
                    f"{text} holds {sorted(names)[0]}. Choose another name."
                )
        for around in place.parents:
            if around.exists() and not around.is_dir():
                raise StoreError(
                    f"a network must be written to a folder in a folder; {around} is none. Choose another "
                    "place."
                )
        place.parent.mkdir(parents=True, exist_ok=True)
        # Whether there may be a folder beside it is found out by making one: permissions do not tell all.
        trial = _beside(place)
        trial.mkdir()
        try:
            with (trial / "trial").open("wb") as file:
                file.write(bytes(4096))
                os.fsync(file.fileno())
        finally:
            shutil.rmtree(trial, ignore_errors=True)
    return place


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write the folder of a network so that at any moment there is all of it, or nothing new.

    The block writes into the folder it is given, beside the place. When the block is left without an
    error everything is on the disk before the folder takes its place. Otherwise nothing is left behind.

    A folder takes the place of an earlier network in one step where the system can do that. Elsewhere the
    earlier one is moved aside first; if the process is killed just then, :func:`found_folder` still finds
    it, and the next writing puts it back.

    Parameters
    ----------
    path : str or path
        As for :func:`folder_place`.

    Yields
    ------
    pathlib.Path
        An empty folder with a name of its own.

    Raises
    ------
    SettingError, StoreError
        As :func:`folder_place` does; and StoreError if writing fails.
    """
    place = folder_place(path)
    with _failures(os.fspath(path)):
        unfinished, earlier = _beside(place), _aside(place)
        _put_back(earlier, place)
        try:
            unfinished.mkdir()
            yield unfinished
            for folder, _, names in os.walk(unfinished, topdown=False):
                for name in names:
                    # Some libraries write files for their owner alone; the folder decides who may read.
                    (Path(folder) / name).chmod(stat.S_IMODE(unfinished.stat().st_mode) & 0o666)
                    _settle(Path(folder) / name)
                _settle(Path(folder))
            if not place.is_dir():
                unfinished.rename(place)
            elif not exchanged_folders(unfinished, place):
                try:
                    place.rename(earlier)
                    unfinished.rename(place)
                    _settle(place.parent)
                finally:
                    _put_back(earlier, place)
            _settle(place.parent)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def found_folder(path: Path) -> Path:
    """Where the network written to `path` lies: there, or aside if its successor's writing was killed.

    Parameters
    ----------
    path : Path

    Returns
    -------
    pathlib.Path
        `path` itself if neither is there.
    """
    if path.exists():
        return path
    earlier = _aside(Path(os.path.abspath(path)))  # noqa: PTH100 - links must not be followed
    return earlier if earlier.is_dir() else path


def _aside(place: Path) -> Path:
    """Where an earlier network lies while its successor takes its place; to be found again by its name."""
    return place.with_name(f".haarbor-{hashlib.sha256(os.fsencode(place.name)).hexdigest()[:16]}.earlier")


def _put_back(earlier: Path, place: Path) -> None:
    """Return an earlier network to its place, or remove it where there is a later one."""
    if earlier.is_dir() and not place.exists():
        earlier.rename(place)
    else:
        shutil.rmtree(earlier, ignore_errors=True)


def _beside(place: Path) -> Path:
    # A short name: that of the place may be as long as names can be.
    return place.with_name(f".haarbor-{secrets.token_hex(8)}.partial")


def _settle(path: Path) -> None:
    """Make sure that a file or a folder is on the disk, and not only in the system's memory."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def _failures(asked: str) -> Iterator[None]:
    try:
        yield
    except HaarborError:
        raise
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        advice = _ADVICE.get(error.errno or 0, "Choose another place.")
        failure = StoreError(f"a network must be writable; {asked}: {reason}. {advice}")
        failure.errno = error.errno
        raise failure from error
    except Exception as error:
        # Errors of the disk inside safetensors and tokenizers, which have a type of their own, or none.
        if type(error) is not Exception and type(error).__name__ != "SafetensorError":
            raise
        line = (str(error).strip().splitlines() or ["unknown"])[0]
        raise StoreError(
            f"a network must be writable; {asked}: {line.rstrip('.')}. Free some space, or choose another "
            "place."
        ) from error
