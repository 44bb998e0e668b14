"""Options by which a model is captured, for every command that captures one."""

from __future__ import annotations

from typing import Annotated

import typer

from haarbor.cli._named import named

__all__ = [
    "BatchesOption",
    "DataOption",
    "DeviceOption",
    "GgufOption",
    "GroupsOption",
    "LeaveOutOption",
    "LinesOption",
    "OptionalDataOption",
    "PoolOption",
    "TargetOption",
    "TokensOption",
]

DataOption = Annotated[
    str,
    typer.Option(
        metavar="DATA",
        help="Text file, .npy of token ids or images, folder of images, hub:DATASET, 'zoo' (text and "
        "images in the package), or 'random'.",
    ),
]
OptionalDataOption = Annotated[
    str | None,
    typer.Option(
        metavar="DATA",
        help="Text file, .npy of token ids or images, folder of images, hub:DATASET, 'zoo' or 'random'; "
        "if not given, the text or the images in the package.",
        callback=named,
    ),
]
TokensOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=2,
        help="Tokens per batch of text; 256 if not given, or as many as the model has places for.",
    ),
]
BatchesOption = Annotated[int, typer.Option(metavar="N", min=1, help="Number of batches.")]
LinesOption = Annotated[bool, typer.Option(help="One document per line, instead of one whole text.")]
TargetOption = Annotated[
    str | None,
    typer.Option(
        metavar="DATA",
        help="What the decoder of an encoder-decoder reads: 'same' as the encoder, one token later (this if "
        "not given), or DATA of its own, such as the translation, line by line with --lines.",
        callback=named,
    ),
]
LeaveOutOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LAYER",
        help="Layer whose attention is not recorded, or a pattern such as '*.head.attention'.",
    ),
]
GroupsOption = Annotated[
    str,
    typer.Option(
        metavar="refuse|heads",
        help="Layers that attend within windows, tiles or frames. refuse: stop; heads: record the heads "
        "of each window as heads of their own.",
    ),
]
GgufOption = Annotated[
    str | None, typer.Option(metavar="FILE", help="Name of a GGUF file in the model's folder.")
]
PoolOption = Annotated[
    int,
    typer.Option(
        metavar="B",
        min=1,
        help="Keep means over blocks of B x B neighbouring tokens, for contexts too long to keep whole.",
    ),
]
DeviceOption = Annotated[str, typer.Option(metavar="NAME", help="Where the model runs: cpu, cuda, ...")]
