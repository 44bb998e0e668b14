"""Places to write to, looked at before the work: nothing is made, and nothing is lost for want of a place."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import typer

from haarbor.errors import SettingError
from haarbor.whole_file import file_place

__all__ = ["require_file_place", "require_folder_place", "require_open_folder"]


def require_folder_place(option: str, folder: Path) -> None:
    """Raise unless `folder` can be written to, or be made."""
    try:
        nearest = folder.absolute()
        while not _is_there(nearest):
            nearest = nearest.parent
        require_open_folder(nearest)
    except OSError as error:
        reason = error.strerror or error
        raise SettingError(
            f"{option} must be a folder that can be written; {folder}: {reason}. Choose another."
        ) from None


def require_file_place(option: str, file: Path, what: str) -> None:
    """Raise unless `file` can be written, or written over; `what` it will be is for the message."""
    with contextlib.suppress(OSError):
        # Whatever else is wrong with the folder is told of the file.
        if not _is_there(file.parent):
            raise typer.BadParameter(f"the folder {file.parent} does not exist.", param_hint=option)
    file_place(file, what)


def _is_there(path: Path) -> bool:
    """As Path.exists, but what cannot be looked at is an error."""
    try:
        path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise FileNotFoundError(0, f"{path} is a link to nothing") from None
        return False
    return True


def require_open_folder(folder: Path) -> None:
    """Raise an OSError that says why unless files can be made in `folder`."""
    if not folder.is_dir():
        raise NotADirectoryError(0, f"{folder} is no folder")
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise PermissionError(0, f"{folder} is read-only")
