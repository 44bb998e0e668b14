"""Options that say where results go, for every command that measures a network."""

from __future__ import annotations

from typing import Annotated

import typer

from haarbor.cli._named import named

__all__ = ["EveryNumberOption", "FolderOption", "KeptRunOption"]

KeptRunOption = Annotated[
    str | None,
    typer.Option(
        metavar="RUN",
        help="Run captured from the model, in which the result is kept and shown from then on.",
        callback=named,
    ),
]
FolderOption = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="PATH",
        help="Folder for tables, figures and results; made if missing.",
        callback=named,
    ),
]
EveryNumberOption = Annotated[bool, typer.Option("--json", help="Print every number as JSON.")]
