"""The command that made a run, as it is kept in the run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

__all__ = ["Option", "capture_line"]

Option = str | int | bool | tuple[str, ...] | None
"""Value of an option of the command line."""


def capture_line(
    model: str, data: str, out: str, options: Mapping[str, Option], command: str = "capture"
) -> str:
    """A ``haarbor capture`` command as one line; paths are shortened to their last part.

    Parameters
    ----------
    model, data, out : str
        As given on the command line.
    options : mapping of option to value
        True for a flag that was given, several values for an option that was given several times; options
        that are None or False are left out.
    command : str, default "capture"
        The command, if it is another one with the same options.

    Returns
    -------
    str

    Examples
    --------
    >>> capture_line("zoo:transformer-xl", "my texts/a b.txt", "runs/a.zarr", {"--batches": 3})
    "haarbor capture zoo:transformer-xl --data 'a b.txt' --out a.zarr --batches 3"
    """
    path = Path(model).expanduser()
    words = ["haarbor", command, path.resolve().name if path.exists() else model]
    words += ["--data", _shown(data), "--out", Path(out).name]
    for name, value in options.items():
        if name == "--target" and isinstance(value, str):
            words += [name, _shown(value)]
            continue
        if value is None or value is False:
            continue
        if value is True:
            words.append(name)
            continue
        for single in value if isinstance(value, tuple) else (value,):
            words += [name, str(single)]
    return shlex.join(words)


def _shown(data: str) -> str:
    known = data in ("random", "zoo") or data.startswith("hub:")
    return data if known else Path(data).name
