"""Places to write to, looked at before the work: nothing is made, and nothing is lost for want of a place."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from haarbor.errors import SettingError

__all__ = ["require_file_place", "require_folder_place", "require_open_folder"]


def require_folder_place(option: str, folder: Path) -> None:
    """Raise unless `folder` can be written to, or be made."""
    try:
        nearest = folder.absolute()
        while not _is_there(nearest):
            nearest = nearest.parent
        require_open_folder(nearest)
    except OSError as error:
        raise SettingError(
            f"{option} must be a folder that can be written; {folder}: {_reason(error)}. Choose another."
        ) from None


def require_file_place(option: str, file: Path) -> None:
    """Raise unless `file` can be written, or written over."""
    try:
        # What replaces a file would replace a device or a pipe just as well.
        if _is_there(file) and not file.is_file():
            what = "a folder" if file.is_dir() else "no plain file"
            raise SettingError(f"{option} must be a file; {file} is {what}. Choose another.")
        folder = file.parent
        if not _is_there(folder):
            raise typer.BadParameter(f"the folder {folder} does not exist.", param_hint=option)
        require_open_folder(folder)
    except OSError as error:
        raise SettingError(
            f"{option} must be a file that can be written; {file}: {_reason(error)}. Choose another."
        ) from None


def _is_there(path: Path) -> bool:
    """As Path.exists, but what cannot be looked at is an error."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def require_open_folder(folder: Path) -> None:
    """Raise an OSError that says why unless files can be made in `folder`."""
    if not folder.is_dir():
        raise NotADirectoryError(0, f"{folder.name} is a file")
    effective = os.access in os.supports_effective_ids
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=effective):
        raise PermissionError(0, f"{folder} is read-only")


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
