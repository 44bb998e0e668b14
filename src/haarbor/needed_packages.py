"""Packages that only work with models needs: imported where they are needed, with a clear message."""

from __future__ import annotations

import importlib
from types import ModuleType

from haarbor.errors import CaptureError

__all__ = ["needed_package"]

# Names for pip of the packages that are imported under another name.
_DISTRIBUTIONS = {"PIL.Image": "pillow"}


def needed_package(name: str, what: str) -> ModuleType:
    """Module of a package that Haarbor installs with its extra ``models``.

    Parameters
    ----------
    name : str
        The name by which it is imported.
    what : str
        What needs it, with which the message begins: "a model", "images".

    Returns
    -------
    module

    Raises
    ------
    CaptureError
        If it is not installed or cannot be imported, in one line that names the extra.

    Examples
    --------
    >>> needed_package("no_such_package", "a model")
    Traceback (most recent call last):
    ...
    haarbor.errors.CaptureError: a model needs no_such_package, which is not installed. Run pip install \
'haarbor[models]'.
    """
    shown = _DISTRIBUTIONS.get(name, name)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        absent = missing in (name, name.split(".")[0])
        found = "which is not installed" if absent else f"which cannot be imported without {missing}"
        reason: BaseException = error
    # A library of the operating system is missing, or of another version.
    except (ImportError, OSError) as error:
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        found = f"which is installed and cannot be imported ({line.rstrip('.')})"
        reason = error
    raise CaptureError(f"{what} needs {shown}, {found}. Run pip install 'haarbor[models]'.") from reason
