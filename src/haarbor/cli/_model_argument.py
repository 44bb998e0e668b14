"""The model that a command works on."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["ModelArgument"]

ModelArgument = Annotated[
    str,
    typer.Argument(
        help="Folder or hub name of a Hugging Face model, timm:NAME, zoo:transformer-xl or "
        "zoo:vision-transformer."
    ),
]
