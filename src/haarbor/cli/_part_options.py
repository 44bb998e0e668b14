"""Which part of a run a command works on: what was recorded, and of which stream."""

from __future__ import annotations

from typing import Annotated

import typer

from haarbor.cli._named import named

__all__ = ["ContentOption", "StreamOption"]

ContentOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="probabilities or logits; probabilities if the run holds them.", callback=named
    ),
]
StreamOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A stream that haarbor info names, such as decoder or vision_tower; the first by default.",
        callback=named,
    ),
]
