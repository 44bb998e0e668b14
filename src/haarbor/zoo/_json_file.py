"""JSON files beside the weights of a model, which are read without trusting them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from haarbor.errors import CaptureError

__all__ = ["json_object"]

# The longest such files list the thousands of parts of the weights of a model.
_MOST_BYTES = 100_000_000


def json_object(path: Path) -> dict[str, Any]:
    """Content of a file that must be a JSON object.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict

    Raises
    ------
    CaptureError
        If it is not a plain file, cannot be read, is absurdly large, is not JSON, is nested too deeply, or
        is not an object.
    """
    try:
        # Reading a device would never end, and reading a pipe might wait for ever.
        if path.exists() and not (path.is_file() and path.stat().st_size <= _MOST_BYTES):
            raise CaptureError(
                f"{path.name} must be a file of at most {_MOST_BYTES // 1_000_000} MB; it is larger or no "
                "plain file. Get it anew."
            )
        found = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise CaptureError(
            f"{path.name} must be JSON of a few levels; it is nested too deeply to be read. Get it anew."
        ) from error
    except OSError as error:
        raise CaptureError(
            f"{path.name} must be a JSON file that can be read; {error.strerror or error}. Check it."
        ) from error
    except ValueError as error:
        reason = str(error).strip().splitlines()[0].rstrip(":. ")
        raise CaptureError(
            f"{path.name} must be JSON; it could not be read: {reason}. Get the file anew."
        ) from error
    if not isinstance(found, dict):
        raise CaptureError(
            f"{path.name} must be a JSON object; found {type(found).__name__}. Get the file anew."
        )
    return found
