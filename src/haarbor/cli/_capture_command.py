"""haarbor capture: record the attention of a model into a run."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from haarbor.cli._model_argument import ModelArgument
from haarbor.errors import CaptureError, HaarborError, SettingError

if TYPE_CHECKING:
    from haarbor.store import RunPlan
    from haarbor.zoo import TransformerXL

__all__ = ["capture"]


def capture(
    model: ModelArgument,
    data: Annotated[
        str,
        typer.Option(
            help="Text file, .npy of token ids or images, folder of images, hub:DATASET, 'zoo' (text and "
            "images in the package), or 'random'."
        ),
    ],
    out: Annotated[str, typer.Option(help="Folder or URL where the run is written.")],
    tokens: Annotated[int, typer.Option(min=2, help="Tokens per batch (text and random data).")] = 256,
    batches: Annotated[int, typer.Option(min=1, help="Number of batches.")] = 10,
    logits: Annotated[
        bool, typer.Option(help="Also record logits (scores before mask and softmax).")
    ] = False,
    mode: Annotated[
        str,
        typer.Option(help="faithful: record eager attention; transparent: run SDPA, outputs bit for bit."),
    ] = "faithful",
    dtype: Annotated[
        str, typer.Option(help="How numbers are stored: float32, or float16 in half the space.")
    ] = "float32",
    lines: Annotated[bool, typer.Option(help="One document per line, instead of one whole text.")] = False,
    memory: Annotated[
        bool, typer.Option(help="Keep the tokens before each batch in memory (zoo:transformer-xl only).")
    ] = False,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="Layer whose attention is not recorded, or a pattern such as '*.head.attention'."),
    ] = None,
    groups: Annotated[
        str,
        typer.Option(
            help="Layers that attend within windows, tiles or frames. refuse: stop; heads: record the heads "
            "of each window as heads of their own."
        ),
    ] = "refuse",
    generate: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Let the model go on from each batch by so many tokens, and record its answer, too; "
            "with --lines every line is a prompt.",
        ),
    ] = None,
    gguf: Annotated[str | None, typer.Option(help="Name of a GGUF file in the model's folder.")] = None,
    device: Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, ...")] = "cpu",
    seed: Annotated[int, typer.Option(min=0, help="Seed of random data.")] = 0,
) -> None:
    """Record the attention of a model on some data, layer by layer, into a run.

    An interrupted run continues where it stopped when the same command is given again.
    """
    from haarbor.cli._capture_paths import require_data, require_model, require_place
    from haarbor.cli._choices import checked_choice

    recording: Literal["faithful", "transparent"] = checked_choice(
        "--mode", mode, ("faithful", "transparent")
    )
    stored: Literal["float16", "float32"] = checked_choice("--dtype", dtype, ("float16", "float32"))
    grouped: Literal["refuse", "heads"] = checked_choice("--groups", groups, ("refuse", "heads"))
    if memory and lines:
        raise SettingError("--memory must follow one text; --lines makes every line a text. Leave one out.")
    if memory and generate is not None:
        raise SettingError(
            "--generate must follow a prompt without a memory; --memory was given, too. Leave one out."
        )
    require_model(model)
    require_data(data)
    require_place(out)
    with _told_when_interrupted(out):
        with _shown_while_loading(model):
            from haarbor.capturing import begun_run, continued_plan, load_model
            from haarbor.capturing import capture as captured
            from haarbor.capturing.inputs import (
                TokenInputs,
                generated_samples,
                memory_window_samples,
                named_samples,
                windows_to_fill,
            )
            from haarbor.cli._capture_line import Option, capture_line
            from haarbor.cli._capture_words import CAPTURE_WORDS, require_same_flags
            from haarbor.cli._progress import shown_steps

            loaded = load_model(model, gguf_file=gguf, device=device)
        for note in loaded.notes:
            typer.echo(note, err=True)
        if loaded.takes is None:
            raise CaptureError(
                f"{loaded.name} takes inputs that the command line does not make; "
                "call haarbor.capture from Python."
            )
        if generate is not None and not isinstance(loaded.takes, TokenInputs):
            raise CaptureError(
                f"--generate must follow a text; {loaded.name} takes none. Leave it out, or choose a "
                "language model."
            )
        samples = named_samples(
            data,
            takes=loaded.takes,
            tokenizer=loaded.tokenizer,
            n_tokens=tokens,
            n_samples=batches + (windows_to_fill(loaded.model, tokens) if memory else 0),
            split="lines" if lines else "whole",
            seed=seed,
        )
        if memory:
            samples = memory_window_samples(samples, cast("TransformerXL", loaded.model))
        words = CAPTURE_WORDS
        if generate is not None:
            samples = generated_samples(samples, loaded.model, n_tokens=generate, tokenizer=loaded.tokenizer)
            words = {**CAPTURE_WORDS, "tokens": "{} tokens per batch, answers included"}
        options: dict[str, Option] = {
            "--tokens": tokens if isinstance(loaded.takes, TokenInputs) else None,
            "--batches": batches,
            "--logits": logits,
            "--mode": mode,
            "--dtype": dtype,
            "--lines": lines,
            "--memory": memory,
            "--leave-out": tuple(leave_out or ()),
            "--groups": groups if groups != "refuse" else None,
            "--generate": generate,
            "--gguf": gguf,
            "--seed": seed if data == "random" else None,
        }

        def on_plan(plan: RunPlan) -> None:
            begun = begun_run(out)
            if begun is not None:
                require_same_flags(begun.plan, plan, out)
                continued_plan(begun.plan, plan, out, words)
                typer.echo(f"Going on: {begun.n_batches} of {plan.n_batches} batches are complete.", err=True)
            typer.echo(_size_line(plan.n_bytes), err=True)

        begin = time.perf_counter()
        with shown_steps() as advance:
            advance("capturing", 0, len(samples))
            run = captured(
                loaded.model,
                samples,
                out,
                content=("probabilities", "logits") if logits else ("probabilities",),
                mode=recording,
                dtype=stored,
                leave_out=leave_out or (),
                groups=grouped,
                name=loaded.name,
                settings={
                    "data": samples.description,
                    "seed": seed,
                    "model_dtype": _dtype_of(loaded.model),
                    "command": capture_line(model, data, out, options),
                },
                on_progress=advance,
                on_plan=on_plan,
            )
        typer.echo(
            f"{run.model}: {_heads_line(run.plan)}, {run.n_batches} batches, "
            f"{run.size_on_disk() / 1e6:.1f} MB on disk, {time.perf_counter() - begin:.1f} s."
        )
        typer.echo(f"Next: haarbor organize {out}")


def _heads_line(plan: RunPlan) -> str:
    """Layers and heads of each stream, in words."""
    several = len(plan.streams) > 1
    return ", ".join(
        f"{f'{stream.name} ' if several else ''}{stream.n_layers} layers x {stream.n_heads} heads"
        for stream in plan.streams
    )


@contextmanager
def _shown_while_loading(model: str) -> Iterator[None]:
    """Show on a terminal that the model is being loaded, which takes seconds."""
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(f"loading {model}")):
        yield


@contextmanager
def _told_when_interrupted(out: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        # The handler of interrupts for all commands prints a line of its own; one line is enough.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            typer.echo(f"haarbor: stopped; {_kept(out)}", err=True)
        raise


def _kept(out: str) -> str:
    """What an interrupted capture has written, in words."""
    from haarbor.store import open_run

    try:
        run = open_run(out)
    except HaarborError:
        return "nothing was written."
    total = "" if run.plan.n_batches is None else f" of {run.plan.n_batches}"
    return f"{run.n_batches}{total} batches are complete in {out}. Give the same command again to go on."


def _dtype_of(model: Any) -> str:
    return str(next(model.parameters()).dtype).removeprefix("torch.")


def _size_line(n_bytes: int | None) -> str:
    if n_bytes is None:
        return "The run grows with its batches; its size is not known in advance."
    return f"The run will take at most {n_bytes / 1e6:.1f} MB (before compression)."
