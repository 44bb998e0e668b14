"""haarbor look: capture a model, organise its heads, and write the page about them, in one command."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from haarbor.cli._capture_options import (
    BatchesOption,
    DeviceOption,
    GgufOption,
    GroupsOption,
    LeaveOutOption,
    LinesOption,
    OptionalDataOption,
    PoolOption,
    TargetOption,
)
from haarbor.cli._model_argument import ModelArgument
from haarbor.cli._named import named
from haarbor.cli._part_options import StreamOption

__all__ = ["look"]

_TOKENS = 128


def look(
    model: ModelArgument,
    data: OptionalDataOption = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="The page to write, MODEL.html if not given; the run is kept beside it, in a folder of the "
            "same name that ends in .zarr.",
            callback=named,
        ),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=2,
            help=f"Tokens per batch of text; {_TOKENS} if not given, or as many as the model has places for.",
        ),
    ] = None,
    batches: BatchesOption = 3,
    pool: PoolOption = 1,
    lines: LinesOption = False,
    stream: StreamOption = None,
    target: TargetOption = None,
    leave_out: LeaveOutOption = None,
    groups: GroupsOption = "refuse",
    gguf: GgufOption = None,
    device: DeviceOption = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON.")] = False,
) -> None:
    """Capture a model, organise its heads, and write the page.

    Does what haarbor capture, organize and report do one after the other. The run is kept beside the
    page, so that the same command again takes seconds, and one that was interrupted goes on.

    Example: haarbor look zoo:transformer-xl -o report.html
    """
    from haarbor.analysis import asked_part, organize_run, question_before
    from haarbor.cli._choices import checked_choice
    from haarbor.cli._diagnosed import diagnose
    from haarbor.cli._json_answer import echo_json
    from haarbor.cli._libraries import require_library
    from haarbor.cli._organize_summary import organize_summary, summary_lines
    from haarbor.cli._output_place import require_file_place
    from haarbor.cli._progress import shown_progress
    from haarbor.cli._recording import Recording
    from haarbor.cli._said_line import say
    from haarbor.cli._size_text import size_text
    from haarbor.cli._told_lines import tell_lines

    page = Path(f"{_short_name(model)}.html" if out is None else out)
    place = page.with_suffix(".zarr")
    if place == page:
        raise typer.BadParameter(
            f"must be the page, such as {page.with_suffix('.html')}; found {page}. The run goes beside it.",
            param_hint="--out",
        )
    recording = Recording(
        model=model,
        data=data,
        out=str(place),
        tokens=tokens,
        usual_tokens=_TOKENS,
        batches=batches,
        pool=pool,
        lines=lines,
        target=target,
        leave_out=tuple(leave_out or ()),
        groups=checked_choice("--groups", groups, ("refuse", "heads")),
        gguf=gguf,
        device=device,
    )
    recording.require()
    require_file_place("--out", page, "the report")
    require_library("plotly.offline", user="a report", extra="report")
    run = recording.run(say)
    part = asked_part(run, None, stream)
    with shown_progress("organising", run.n_batches) as advance:
        found = organize_run(part, **question_before(part).to_result(), on_progress=advance)
    diagnose(part)
    summary = organize_summary(run, found)
    say("Writing the page ...")
    from haarbor.report import write_report

    n_bytes = write_report([part], page)
    if as_json:
        echo_json({**summary, "report": str(page), "bytes": n_bytes, "run": str(place)})
        return
    chosen = "" if stream is None else f" --stream {stream}"
    told = [
        *summary_lines(run, summary),
        "",
        f"  page  {page}  ({size_text(n_bytes)}; open it in a browser)",
        f"  run   {place}  ({size_text(run.size_on_disk())}; the same command again uses it)",
        "",
        f"Next: haarbor figures {place}{chosen} -o figures  (the figures of the paper)",
        f"  or: {_prune_words(model, data, gguf, lines)}  (which heads can go)",
    ]
    tell_lines(told)


def _prune_words(model: str, data: str | None, gguf: str | None, lines: bool) -> str:
    """The command that prunes the model that was looked at, as it can be typed."""
    words = ["haarbor", "prune", model, "--data", data or "zoo"]
    words += [] if gguf is None else ["--gguf", gguf]
    words += ["--lines"] if lines else []
    return shlex.join(words)


def _short_name(model: str) -> str:
    """Name of a model without its place, as the name of a file."""
    last = re.split(r"[/\\:]", model.rstrip("/\\"))[-1]
    if last in ("", ".", "..", "~"):
        last = Path(model).expanduser().resolve().name
    return re.sub(r"\.gguf$", "", last) or "report"
