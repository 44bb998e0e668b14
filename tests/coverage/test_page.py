"""The page of models that are captured shows the table that the tests hold the code to."""

from pathlib import Path

import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tests.coverage.page import BEGIN, END, written_page, written_summary  # noqa: E402
from tests.coverage.table import KINDS, MODEL_TYPES  # noqa: E402

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "model_support.md").read_text(encoding="utf-8")
TABLES = (DOCS / "evidence" / "model_types.md").read_text(encoding="utf-8")


def test_the_page_shows_the_table_as_it_is():
    assert written_page(TABLES, KINDS) == TABLES, "the table has changed: run python -m tests.coverage"
    assert written_summary(PAGE, KINDS) == PAGE, "the table has changed: run python -m tests.coverage"


def test_a_page_without_marks_is_not_written():
    with pytest.raises(ValueError, match="must hold the marks"):
        written_page("no marks", KINDS)
    with pytest.raises(ValueError, match="must hold the marks"):
        written_summary(TABLES, KINDS)
    assert written_page(f"before\n{BEGIN}\nold\n{END}\nafter\n", {}).startswith("before\n")


def test_every_type_stands_in_the_table_once_under_its_own_name():
    models = [model for kind in KINDS.values() for model in kind]
    assert len(models) == len(MODEL_TYPES)
    for model in models:
        assert getattr(transformers, model.config).model_type == model.type


def test_the_page_counts_what_it_shows():
    n_captured = sum(not model.refused for model in MODEL_TYPES.values())
    n_with_options = sum(bool(model.refused and model.options) for model in MODEL_TYPES.values())
    assert f"{len(MODEL_TYPES)} types of models: {n_captured} are captured as they are" in " ".join(
        PAGE.split()
    )
    assert f"{n_with_options} with an option" in PAGE


def test_rows_that_are_refused_say_why_and_others_say_nothing_to_do():
    for model in MODEL_TYPES.values():
        assert not model.refused or model.why, model.type
        assert model.refused or not model.options, model.type
        assert bool(model.streams) or model.refused, model.type
