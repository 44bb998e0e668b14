"""haarbor analyze: capture a model and organise its heads, and keep the results alone."""

from __future__ import annotations

from typing import Annotated, Any

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
from haarbor.cli._named import named
from haarbor.cli._part_options import StreamOption

__all__ = ["analyze"]


def analyze(
    model: ModelArgument,
    data: DataOption,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="PATH", help="Folder or URL where the results are written.", callback=named
        ),
    ],
    tokens: TokensOption = None,
    batches: BatchesOption = 10,
    pool: PoolOption = 1,
    mode: Annotated[
        str,
        typer.Option(
            metavar="faithful|transparent",
            help="transparent: run SDPA, and never hold a layer's attention; faithful: run eager attention.",
        ),
    ] = "transparent",
    lines: LinesOption = False,
    stream: StreamOption = None,
    target: TargetOption = None,
    leave_out: LeaveOutOption = None,
    groups: GroupsOption = "refuse",
    gguf: GgufOption = None,
    device: DeviceOption = "cpu",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of random data.")] = 0,
    tree: Annotated[
        str, typer.Option(metavar="flexible|binary", help="Builder of the trees: flexible, or binary.")
    ] = "flexible",
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory that organising may take at the most, such as 2GB.",
            callback=named,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Organise the heads of a model, and keep the results alone.

    The attention is captured into memory and not written: what is left is small, trees, affinities and
    entropies. One batch at a time is in memory, and an interrupted command goes on where it stopped. For
    pages and figures, which show the attention itself, use haarbor capture or look.

    Example: haarbor analyze zoo:transformer-xl --data zoo -o results.zarr
    """
    from functools import partial

    from haarbor.analysis import analyze as analyzed
    from haarbor.analysis import asked_part, organize_run
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._organize_summary import organize_summary, summary_lines
    from haarbor.cli._recording import Recording
    from haarbor.cli._said_line import say
    from haarbor.cli._size_text import size_text
    from haarbor.cli._told_lines import tell_lines

    options: dict[str, Any] = {"tree": checked_choice("--tree", tree, ("flexible", "binary"))}
    recording = Recording(
        model=model,
        data=data,
        out=out,
        tokens=tokens,
        batches=batches,
        pool=pool,
        mode=checked_choice("--mode", mode, ("faithful", "transparent")),
        lines=lines,
        target=target,
        leave_out=tuple(leave_out or ()),
        groups=checked_choice("--groups", groups, ("refuse", "heads")),
        gguf=gguf,
        device=device,
        seed=seed,
        command="analyze",
        recorder=partial(analyzed, options=options, memory=memory),
    )
    recording.require()
    run = recording.run(say)
    found = organize_run(asked_part(run, None, stream), options=options)
    summary = organize_summary(run, found)
    if as_json:
        echo_json({**summary, "results": out, "bytes": run.size_on_disk()})
        return
    tell_lines(
        [
            *summary_lines(run, summary),
            "",
            f"  results  {out}  ({size_text(run.size_on_disk())}; haarbor info {out} tells what is in it)",
        ]
    )
