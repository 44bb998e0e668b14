"""The tables inside docs/model_support.md."""

from __future__ import annotations

import re

from tests.coverage.model_type import ModelType

__all__ = ["BEGIN", "END", "written_page"]

BEGIN, END = "<!-- tables: written by python -m tests.coverage -->", "<!-- end of tables -->"
_HEADER = (
    "| type | class | modes | streams | without options | to capture it anyway |\n|---|---|---|---|---|---|"
)


def written_page(page: str, kinds: dict[str, tuple[ModelType, ...]]) -> str:
    """Page with a table of each kind of model between its two marks."""
    between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    if not between.search(page):
        raise ValueError(f"the page must hold the marks {BEGIN!r} and {END!r}; it does not. Put them in.")
    tables = "\n\n".join(
        "\n".join([f"## {title}\n\n{_HEADER}", *map(_row, sorted(models, key=lambda model: model.type))])
        for title, models in kinds.items()
    )
    return between.sub(lambda _: f"{BEGIN}\n\n{tables}\n\n{END}", page)


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
