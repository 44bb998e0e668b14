"""Writes the tables of docs/model_support.md: ``python -m tests.coverage``."""

from __future__ import annotations

from pathlib import Path

from tests.coverage.page import written_page
from tests.coverage.table import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "model_support.md"

if __name__ == "__main__":
    PAGE.write_text(written_page(PAGE.read_text(encoding="utf-8"), KINDS), encoding="utf-8")
