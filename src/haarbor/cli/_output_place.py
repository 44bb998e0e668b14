"""Checks of places to write to, made before the work, so that no result is lost; nothing is created."""

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
    """Raise unless `file` can be written or replaced; `what` names it in the message."""
    with contextlib.suppress(OSError):
        # Whatever else is wrong with the folder is told by file_place below.
        if not _is_there(file.parent):
            raise typer.BadParameter(f"the folder {file.parent} does not exist.", param_hint=option)
    file_place(file, what)


def _is_there(path: Path) -> bool:
    """Like Path.exists, but a path that cannot be looked at is an error."""
    try:
        path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise FileNotFoundError(0, f"{path} is a link to nothing") from None
        return False
    return True


def require_open_folder(folder: Path) -> None:
    """Raise an OSError that says why if files cannot be created in `folder`."""
    if not folder.is_dir():
        raise NotADirectoryError(0, f"{folder} is no folder")
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise PermissionError(0, f"{folder} is read-only")
