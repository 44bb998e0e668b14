"""Writes the tables of both pages about models: ``python -m tests.coverage``."""

from __future__ import annotations

from pathlib import Path

from tests.coverage.page import written_page, written_summary
from tests.coverage.table import KINDS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {DOCS / "evidence" / "model_types.md": written_page, DOCS / "model_support.md": written_summary}

if __name__ == "__main__":
    for page, written in PAGES.items():
        page.write_text(written(page.read_text(encoding="utf-8"), KINDS), encoding="utf-8")
