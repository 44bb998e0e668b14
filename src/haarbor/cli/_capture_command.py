"""haarbor capture: record the attention of a model into a run."""

from __future__ import annotations

from typing import Annotated

import typer

from haarbor.cli._capture_options import (
    BatchesOption,
    DataOption,
    DeviceOption,
    GgufOption,
    GroupsOption,
    LeaveOutOption,
    LinesOption,
    PoolOption,
    TargetOption,
    TokensOption,
)
from haarbor.cli._model_argument import ModelArgument

__all__ = ["capture"]


def capture(
    model: ModelArgument,
    data: DataOption,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="PATH", help="Folder or URL where the run is written."),
    ],
    tokens: TokensOption = None,
    batches: BatchesOption = 10,
    logits: Annotated[
        bool, typer.Option(help="Also record logits (scores before mask and softmax).")
    ] = False,
    mode: Annotated[
        str,
        typer.Option(
            metavar="auto|faithful|transparent",
            help="faithful: record eager attention; transparent: run SDPA, outputs bit for bit, and never "
            "hold a layer's attention; auto: faithful, and with --pool transparent.",
        ),
    ] = "auto",
    dtype: Annotated[
        str,
        typer.Option(
            metavar="float32|float16", help="How numbers are stored: float32, or float16 in half the space."
        ),
    ] = "float32",
    pool: PoolOption = 1,
    lines: LinesOption = False,
    memory: Annotated[
        bool, typer.Option(help="Keep the tokens before each batch in memory (zoo:transformer-xl only).")
    ] = False,
    leave_out: LeaveOutOption = None,
    groups: GroupsOption = "refuse",
    generate: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Let the model go on from each batch by so many tokens, and record its answer, too; "
            "with --lines every line is a prompt.",
        ),
    ] = None,
    target: TargetOption = None,
    gguf: GgufOption = None,
    device: DeviceOption = "cpu",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of random data.")] = 0,
) -> None:
    """Record the attention of a model on some data into a run.

    It is recorded layer by layer. An interrupted run continues where it stopped when the same command is
    given again.

    Example: haarbor capture zoo:transformer-xl --data zoo -o run.zarr
    """
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._recording import Recording
    from haarbor.printable import printable

    recording = Recording(
        model=model,
        data=data,
        out=out,
        tokens=tokens,
        batches=batches,
        logits=logits,
        mode=checked_choice("--mode", mode, ("auto", "faithful", "transparent")),
        dtype=checked_choice("--dtype", dtype, ("float16", "float32")),
        pool=pool,
        lines=lines,
        memory=memory,
        leave_out=tuple(leave_out or ()),
        groups=checked_choice("--groups", groups, ("refuse", "heads")),
        generate=generate,
        target=target,
        gguf=gguf,
        device=device,
        seed=seed,
    )
    recording.require()
    recording.run(lambda line: typer.echo(printable(line)))
    typer.echo(printable(f"Next: haarbor organize {out}"))
