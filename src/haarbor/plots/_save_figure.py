"""Figures on disk, the same bytes for the same figure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from haarbor.errors import SettingError
from haarbor.options import require_kind, require_path
from haarbor.plots.style._house_style import house_style
from haarbor.whole_file import whole_file

__all__ = ["save_figure"]

# With a date in it, the same figure would give a different file every time.
_WITHOUT_DATE: dict[str, dict[str, Any]] = {
    ".pdf": {"CreationDate": None},
    ".png": {},
    ".svg": {"Date": None},
}


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG (200 dots per inch), SVG or PDF, by the ending of `path`.

    The same figure gives the same bytes with the same matplotlib: no dates, no random names.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : str or path
        Ends in .png, .svg or .pdf; its folder exists. A file that is there is replaced.

    Returns
    -------
    pathlib.Path
        Where it was written.

    Raises
    ------
    SettingError
        If `figure` is not a Figure, the ending is another one, or there is no such folder.
    StoreError
        If it cannot be written; what was there before is then unharmed.
    """
    require_kind("figure", figure, Figure, "Pass what a function of haarbor.plots gives.")
    target = Path(require_path("the place of a figure", path))
    suffix = target.suffix.lower()
    if suffix not in _WITHOUT_DATE:
        raise SettingError(
            f"a figure is written as .png, .svg or .pdf; found {target.name!r}. Change the ending."
        )
    if not target.parent.is_dir():
        raise SettingError(f"the folder of a figure must exist; there is no {target.parent}. Make it first.")
    with house_style(), whole_file(target, "a figure") as unfinished:
        figure.savefig(unfinished, format=suffix[1:], metadata=_WITHOUT_DATE[suffix])
    return target
