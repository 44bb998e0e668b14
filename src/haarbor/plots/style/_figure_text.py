"""Texts that matplotlib can draw safely, whatever characters tokens and names may hold."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font

from haarbor.errors import SettingError, ShapeError
from haarbor.options import found_text

__all__ = ["add_title", "checked_labels", "plain_text"]

_VISIBLE = {"\n": "⏎", "\r": "⏎", "\t": "⇥"}
_NO_GLYPH = "□"


def plain_text(text: str, max_letters: int | None = None) -> str:
    r"""`text` as matplotlib will draw it letter by letter: no formulas, no missing glyphs.

    Line ends and tabs become signs, a text of spaces becomes ``␣``, letters the font lacks become
    a box, and dollar signs are escaped so that none begins a formula.

    Parameters
    ----------
    text : str
    max_letters : int, optional
        Longer texts end in an ellipsis.

    Returns
    -------
    str

    Examples
    --------
    >>> plain_text("$x_"), plain_text("a\nb"), plain_text("  ")
    ('\\$x_', 'a⏎b', '␣␣')
    >>> plain_text("internationalisation", 8)
    'interna…'
    """
    letters = str(text)
    if letters and not letters.strip(" "):
        letters = "␣" * len(letters)
    if max_letters is not None and len(letters) > max_letters:
        letters = letters[: max_letters - 1] + "…"
    return "".join(_drawable(letter) for letter in letters).replace("$", r"\$")


def checked_labels(
    name: str, labels: Sequence[str] | None, n_items: int, *, max_letters: int = 14
) -> list[str] | None:
    """Labels fit to be drawn, one per item; None stays None.

    Raises
    ------
    ShapeError
        If there is not one text per item.
    """
    if labels is None:
        return None
    if isinstance(labels, str | bytes) or not isinstance(labels, Sequence | np.ndarray):
        raise ShapeError(
            f"{name} must be a sequence of texts; found {found_text(labels)}. Pass one text per item."
        )
    if len(labels) != n_items:
        raise ShapeError(
            f"{name} must hold one text per item, {n_items}; found {len(labels)}. Pass one text per item."
        )
    return [plain_text(label, max_letters) for label in labels]


def add_title(figure: Figure, title: str | None) -> None:
    """Put a title over the whole figure, broken into lines that fit; the figure grows by their height."""
    if title is None:
        return
    if not isinstance(title, str):
        raise SettingError(f"title must be a text; found {found_text(title)}. Pass one, or leave it out.")
    letters = int(figure.get_figwidth() * 72.0 / 6.0)
    lines = [line for part in title.splitlines() for line in textwrap.wrap(part, letters)]
    figure.set_figheight(figure.get_figheight() + 0.19 * len(lines))
    figure.suptitle("\n".join(plain_text(line) for line in lines))


def _drawable(letter: str) -> str:
    if letter in _VISIBLE:
        return _VISIBLE[letter]
    if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") or ord(letter) not in _glyphs():
        return _NO_GLYPH
    return letter


@cache
def _glyphs() -> frozenset[int]:
    font = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return frozenset(FT2Font(str(font)).get_charmap())
