"""Failures that come from the user's circumstances, not from a defect of the program, told in one line."""

from __future__ import annotations

import errno
from pathlib import Path
from types import TracebackType

from haarbor.cli._option_words import option_words
from haarbor.errors import HaarborError
from haarbor.printable import printable

__all__ = ["failure_line"]

_PERMISSIONS = "Change its permissions, or choose another place."
_FREE_SPACE = "Free some space, then run the same command again."
_SAME_AGAIN = "Check the path, and that nothing else changes it meanwhile."
# Failures of a file, which the message must be able to name.
_OF_A_FILE = {
    errno.EACCES: _PERMISSIONS,
    errno.EPERM: _PERMISSIONS,
    errno.EROFS: "The file system is read-only: choose another place.",
    errno.ENAMETOOLONG: "Choose a shorter one.",
    errno.ELOOP: "Its links go round in a circle.",
    errno.ENOENT: _SAME_AGAIN,
    errno.EEXIST: _SAME_AGAIN,
    errno.ENOTDIR: _SAME_AGAIN,
    errno.EISDIR: _SAME_AGAIN,
    errno.ENOTEMPTY: _SAME_AGAIN,
    errno.ENXIO: _SAME_AGAIN,
    errno.ENODEV: _SAME_AGAIN,
}
# Failures of the machine, for which no file need be named.
_OF_THE_MACHINE = {
    errno.ENOSPC: _FREE_SPACE,
    errno.EDQUOT: _FREE_SPACE,
    errno.EFBIG: "Allow larger files (ulimit -f), or choose another place.",
    errno.EIO: "The disk or the network cannot be relied on: check it, then run the same command again.",
    errno.ESTALE: "The file system was taken away: mount it, then run the same command again.",
    errno.EMFILE: "Allow more open files (ulimit -n).",
    errno.ENFILE: "Close other programs.",
    errno.ENOMEM: "Close other programs, or take less at a time.",
}
# A missing file inside this folder is a defect of the program.
_PACKAGE = str(Path(__file__).parents[1])
_EXTRAS = {
    "matplotlib": "report",
    "plotly": "report",
    "accelerate": "models",
    "gguf": "models",
    "PIL": "models",
    "safetensors": "models",
    "timm": "models",
    "tokenizers": "models",
    "torch": "models",
    "transformers": "models",
    "dask": "cluster",
    "distributed": "cluster",
    "fsspec": "remote",
}


def failure_line(error: BaseException) -> str | None:
    r"""The line that tells a user of a failure: what must hold, what was found, what to do.

    Parameters
    ----------
    error : BaseException

    Returns
    -------
    str or None
        None for anything that may be a defect: its traceback has to be seen.

    Examples
    --------
    >>> failure_line(PermissionError(13, "Permission denied", "/attic/run"))
    '/attic/run: Permission denied. Change its permissions, or choose another place.'
    >>> failure_line(ModuleNotFoundError("No module named 'torch'", name="torch"))
    "this needs the torch package, which is not installed; pip install 'haarbor[models]'."
    >>> failure_line(ZeroDivisionError("division by zero")) is None
    True
    """
    line: str | None = None
    if isinstance(error, HaarborError):
        line = option_words(str(error))
    elif isinstance(error, OSError):
        line = _of_the_system(error)
    elif isinstance(error, MemoryError):
        reason = str(error) or "there is not"
        line = f"there must be memory for this; {reason}. Take less at a time, or a larger machine."
    elif isinstance(error, UnicodeDecodeError):
        line = (
            f"a text must be {error.encoding}; found bytes that are not, at {error.start}. Save it as UTF-8."
        )
    elif isinstance(error, UnicodeEncodeError):
        letter = error.object[error.start : error.end]
        line = f"a text must have a form in {error.encoding}; {letter!r} has none. Take it out of the name."
    elif isinstance(error, RecursionError) and _last_module(error.__traceback__).startswith("json."):
        line = "JSON in a file must not be nested so deeply; it is damaged or of another kind."
    elif isinstance(error, ModuleNotFoundError):
        line = _of_a_library(error.name or "")
    return None if line is None else printable(line)


def _of_the_system(error: OSError) -> str | None:
    if _last_module(error.__traceback__) in ("matplotlib", "tempfile"):
        # Neither home nor the system's folder for such files can be written; the error has no file.
        return f"{error.strerror or error}. Set TMPDIR to a folder that can be written."
    number = error.errno or 0
    if number in _OF_THE_MACHINE:
        advice = _OF_THE_MACHINE[number]
    elif number in _OF_A_FILE and error.filename and not _text(error.filename).startswith(_PACKAGE):
        advice = _OF_A_FILE[number]
    else:
        return None
    names = " and ".join(_text(name) for name in (error.filename, error.filename2) if name)
    return f"{names}{': ' if names else ''}{error.strerror}. {advice}"


def _text(name: object) -> str:
    return name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)


def _of_a_library(name: str) -> str | None:
    package = name.partition(".")[0]
    if package not in _EXTRAS:
        return None
    extra = _EXTRAS[package]
    return f"this needs the {package} package, which is not installed; pip install 'haarbor[{extra}]'."


def _last_module(place: TracebackType | None) -> str:
    """Name of the module in which an exception was raised."""
    if place is None:
        return ""
    while place.tb_next is not None:
        place = place.tb_next
    return str(place.tb_frame.f_globals.get("__name__", ""))
