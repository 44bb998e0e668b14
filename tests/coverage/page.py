"""The tables inside docs/evidence/model_types.md, and the short one inside docs/model_support.md."""

from __future__ import annotations

import re

from tests.coverage.model_type import ModelType

__all__ = ["BEGIN", "BEGIN_SUMMARY", "END", "END_SUMMARY", "written_page", "written_summary"]

BEGIN, END = "<!-- tables: written by python -m tests.coverage -->", "<!-- end of tables -->"
BEGIN_SUMMARY = "<!-- summary: written by python -m tests.coverage -->"
END_SUMMARY = "<!-- end of summary -->"
_HEADER = (
    "| type | class | modes | streams | without options | to capture it anyway |\n|---|---|---|---|---|---|"
)


def written_page(page: str, kinds: dict[str, tuple[ModelType, ...]]) -> str:
    """Page with a table of each kind of model between its two marks."""
    tables = "\n\n".join(
        "\n".join([f"## {title}\n\n{_HEADER}", *map(_row, sorted(models, key=lambda model: model.type))])
        for title, models in kinds.items()
    )
    return _between(page, BEGIN, END, f"\n{tables}\n")


def written_summary(page: str, kinds: dict[str, tuple[ModelType, ...]]) -> str:
    """Page with the names of all types, a line per kind of model, between its two marks."""
    lines = ["| kind | captured as they are | with an option | refused |", "|---|---|---|---|"]
    for title, models in kinds.items():
        captured = [model.type for model in models if not model.refused]
        with_option = [model.type for model in models if model.refused and model.options]
        refused = [model.type for model in models if model.refused and not model.options]
        cells = (", ".join(sorted(names)) for names in (captured, with_option, refused))
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return _between(page, BEGIN_SUMMARY, END_SUMMARY, "\n".join(lines))


def _between(page: str, begin: str, end: str, text: str) -> str:
    marked = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not marked.search(page):
        raise ValueError(f"the page must hold the marks {begin!r} and {end!r}; it does not. Put them in.")
    return marked.sub(lambda _: f"{begin}\n{text}\n{end}", page)


def _row(model: ModelType) -> str:
    cells = (
        model.type,
        f"`{model.model}`",
        ", ".join(model.modes) or "-",
        ", ".join(f"`{stream}`" for stream in model.streams) or "-",
        _verdict(model),
        _anyway(model),
    )
    return f"| {' | '.join(cells)} |"


def _verdict(model: ModelType) -> str:
    verdict = "refused" if model.refused else "captured"
    return f"{verdict}: {model.why}" if model.why else verdict


def _anyway(model: ModelType) -> str:
    if not model.refused:
        return ""
    if model.options:
        return ", ".join(f"`{name}={value!r}`" for name, value in model.options.items()).replace("'", '"')
    if model.refused.endswith("has none"):
        return "there is no attention"
    return "`haarbor.import_arrays`, with weights that you computed"
