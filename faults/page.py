"""The tables inside docs/faults.md, by kind, and docs/evidence/faults.md, by what was struck."""

from __future__ import annotations

import re

from faults.table import Table

__all__ = ["BEGIN", "BEGIN_TOTALS", "END", "END_TOTALS", "written_page"]

BEGIN, END = "<!-- table: written by make faults FAULTS=long -->", "<!-- end of table -->"
BEGIN_TOTALS, END_TOTALS = "<!-- totals: written by make faults FAULTS=long -->", "<!-- end of totals -->"


def written_page(page: str, table: Table) -> str:
    """Page with the table, or the totals of the kinds, between whichever two marks it holds."""
    if BEGIN in page:
        begin, end, text = BEGIN, END, table.markdown()
    else:
        begin, end, text = BEGIN_TOTALS, END_TOTALS, table.totals_markdown()
    between = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not between.search(page):
        raise ValueError(
            f"the page must hold the marks {BEGIN!r} and {END!r}, or {BEGIN_TOTALS!r} and {END_TOTALS!r}; "
            "it does not. Put them in."
        )
    return between.sub(lambda _: f"{begin}\n{text}\n{end}", page)
