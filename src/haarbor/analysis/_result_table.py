"""A small table, written as Markdown for people and as CSV for programs."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

from haarbor.errors import ShapeError
from haarbor.printable import printable

__all__ = ["Cell", "ResultTable", "escaped"]

Cell = str | int | float | None
_IN_QUOTES = "\n\t"
"""Control characters that a quoted cell of CSV can hold; Markdown gets spaces instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable:
    """Table of texts and numbers; None is an empty cell."""

    name: str
    """Name of its files, without their endings."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ShapeError(
                    f"every row must have {len(self.columns)} cells; row {number} has {len(row)}."
                    " Fill the row, with None where there is nothing."
                )

    def csv_text(self) -> str:
        """Header and rows, numbers with ten figures.

        Examples
        --------
        >>> table = ResultTable(name="t", title="T", columns=("a", "b"), rows=((1 / 3, None),), caption="")
        >>> table.csv_text().splitlines()
        ['a,b', '0.3333333333,']
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([printable(column, keep=_IN_QUOTES) for column in self.columns])
        for row in self.rows:
            writer.writerow([_cell_text(cell, 10) for cell in row])
        return text.getvalue()

    def markdown_text(self) -> str:
        r"""Title, table and caption, numbers with four figures.

        Examples
        --------
        >>> table = ResultTable(name="t", title="T", columns=("a|b",), rows=((1 / 3,),), caption="C.")
        >>> print(table.markdown_text())
        **T**
        <BLANKLINE>
        | a\|b |
        |---:|
        | 0.3333 |
        <BLANKLINE>
        C.
        <BLANKLINE>
        """
        numeric = [
            any(isinstance(row[place], int | float) for row in self.rows)
            for place in range(len(self.columns))
        ]
        lines = [
            _row_text(self.columns),
            "|" + "|".join("---:" if number else "---" for number in numeric) + "|",
            *(_row_text([_cell_text(cell, 4) for cell in row]) for row in self.rows),
        ]
        return f"**{escaped(self.title)}**\n\n" + "\n".join(lines) + f"\n\n{escaped(self.caption)}\n"


def escaped(text: str) -> str:
    r"""`text` as Markdown shows it, letter by letter: names come from files and may hold anything.

    Examples
    --------
    >>> escaped("a|b_c<d>")
    'a\\|b\\_c&lt;d&gt;'
    """
    plain = printable(" ".join(text.split())).replace("\\", "\\\\")
    for letter in "|`*_[]":
        plain = plain.replace(letter, f"\\{letter}")
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _row_text(cells: tuple[str, ...] | list[str]) -> str:
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"


def _cell_text(cell: Cell, figures: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        if not math.isfinite(cell):
            return ""
        if figures == 4:
            # Not 1.234e+03, and three figures after 3 even if they are zeros: columns line up.
            return f"{cell:.0f}" if abs(cell) >= 1000 else f"{cell:#.4g}"
        return f"{cell:.{figures}g}"
    return printable(cell, keep=_IN_QUOTES)
