"""Commands given in this process or in one of their own, and runs for them to work on."""

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest import mock

import pytest
import typer
from typer.testing import CliRunner

from haarbor import datasets
from haarbor.cli import main
from haarbor.cli._app import app
from haarbor.cli._capture_command import capture
from haarbor.errors import HaarborError
from haarbor.store import RunPlan, StreamPlan, create_run

HOSTILE_NAME = "[red]x[/] [/nope] \x1b]0;evil\x07\x1b[31m \u202e\x7f\x9b \r\n<b>"
# Commands that read a run, by name.
RUN_COMMANDS = {
    "compare": ("compare", "RUN", "RUN"),
    "info": ("info", "RUN"),
    "organize": ("organize", "RUN"),
    "figures": ("figures", "RUN", "-o", "out"),
    "invariance": ("invariance", "RUN", "--no-figures"),
    "report": ("report", "RUN"),
}


class Answer(NamedTuple):
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str

    @property
    def line(self):
        """The one line that says what is wrong."""
        (line,) = [line for line in self.err.splitlines() if line.startswith("haarbor:")]
        return line


def answer(*words):
    """What a command answers in this process; anything but an exit, such as a traceback, fails the test."""
    before = signal.getsignal(signal.SIGINT)
    out, err = io.StringIO(), io.StringIO()
    try:
        with (
            mock.patch.object(sys, "argv", ["haarbor", *map(str, words)]),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as left,
        ):
            main()
    finally:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, before)
    return Answer(left.value.code or 0, out.getvalue(), err.getvalue())


def words_for(command, run):
    """A command that reads a run, with the run filled in."""
    return [str(run) if word == "RUN" else word for word in RUN_COMMANDS[command]]


def started(*words, code=("-m", "haarbor"), cwd=None):
    """A command that has been started in a process of its own."""
    command = [sys.executable, *code, *map(str, words)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(*words, code=("-m", "haarbor"), cwd=None):
    """What a command answers from a process of its own."""
    process = started(*words, code=code, cwd=cwd)
    out, err = process.communicate()
    return Answer(process.returncode, out, err)


def captured(*words):
    """Exit code of `haarbor capture`, and its lines on stderr; a refusal is the last of them."""
    only_capture = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    only_capture.command()(capture)
    done = CliRunner().invoke(only_capture, [str(word) for word in words])
    lines = done.stderr.splitlines()
    if isinstance(done.exception, HaarborError):
        return 1, [*lines, f"haarbor: {done.exception}"]
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, lines


def capture_words(model, *more, data="book.txt", out="run.zarr", tokens=6, batches=3):
    """Arguments of `haarbor capture`."""
    sizes = ("--tokens", str(tokens), "--batches", str(batches))
    return [model, "--data", data, "--out", out, *sizes, *more]


def pruned(*words):
    """What typer knows about a `haarbor prune`: its exit code, exception and output."""
    return CliRunner().invoke(app, ["prune", *map(str, words)])


def hostile_run(folder):
    """A run of a few heads whose names try to command the terminal, wherever there is a name."""
    stream = StreamPlan(name="self", n_layers=2, n_heads=2, n_queries=12, n_keys=12)
    plan = RunPlan(
        model=HOSTILE_NAME,
        streams=(stream,),
        n_batches=1,
        contents=("probabilities", "logits"),
        config_digest=HOSTILE_NAME,
        settings={"mode": HOSTILE_NAME, HOSTILE_NAME: 1, "none": None},
        library_versions={HOSTILE_NAME: HOSTILE_NAME},
    )
    network = {
        content: datasets.synthetic_network(12, 2, 2, content=content)
        for content in ("probabilities", "logits")
    }
    with create_run(folder, plan) as writer, writer.batch(0) as batch:
        batch.write_mask("self", network["logits"].mask)
        for layer in range(2):
            heads = {
                content: made.tensor[:, :, 2 * layer : 2 * layer + 2].transpose(2, 0, 1)
                for content, made in network.items()
            }
            batch.write_layer("self", layer, heads)
    return folder


def prune_refusal(*words):
    """What typer knows about a `haarbor prune` that ends with one line."""
    done = pruned(*words)
    assert isinstance(done.exception, HaarborError), done.output
    assert "\n" not in str(done.exception)
    return done


def saved_model(name, folder):
    """A small model whose heads matter, as a checkpoint."""
    import torch

    from tests.capturing.small_models import SMALL_MODELS

    model = SMALL_MODELS[name].build("eager")
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(4.0)
    model.save_pretrained(folder / name)
    return folder / name
