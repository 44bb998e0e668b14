"""The model that a command works on."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["ZOO_MODELS", "ModelArgument"]

ZOO_MODELS = ("zoo:transformer-xl", "zoo:vision-transformer")
"""The networks inside the package."""

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help=f"Folder or hub name of a Hugging Face model, timm:NAME, {' or '.join(ZOO_MODELS)}.",
    ),
]
