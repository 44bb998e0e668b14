"""The table inside docs/faults.md."""

from __future__ import annotations

import re

from faults.table import Table

__all__ = ["BEGIN", "END", "written_page"]

BEGIN, END = "<!-- table: written by make faults FAULTS=long -->", "<!-- end of table -->"


def written_page(page: str, table: Table) -> str:
    """Page with the table between its two marks."""
    between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not between.search(page):
        raise ValueError(f"the page must hold the marks {BEGIN!r} and {END!r}; it does not. Put them in.")
    return between.sub(lambda _: f"{BEGIN}\n{table.markdown()}\n{END}", page)
